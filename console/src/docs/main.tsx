import { render } from 'preact';
import { AnnouncerProvider } from '../parts/announcer.js';
import { applyTheme, readTheme } from '../shell/theme.js';
import { Docs } from './docs.js';

applyTheme(readTheme());
render(
  <AnnouncerProvider>
    <Docs />
  </AnnouncerProvider>,
  document.body,
);
