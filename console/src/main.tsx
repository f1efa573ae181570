import { render } from 'preact';
import { App } from './app.js';
import { applyTheme, readTheme } from './shell/theme.js';

applyTheme(readTheme());
render(<App />, document.body);
