import { AgUiPage, openAgent } from './ag-ui.js';
import { start } from './shell.js';

start({
  label: 'AG-UI',
  View: AgUiPage,
  async begin({ service }, id, text) {
    const open = await openAgent(service, id);
    await open.connected;
    open.say(text);
  },
});
