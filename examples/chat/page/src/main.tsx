import { ChatPage } from './chat.js';
import { openChat } from './open-chat.js';
import { start } from './shell.js';

start({
  label: 'AI SDK',
  View: ChatPage,
  async begin({ service }, id, text) {
    const { chat } = await openChat(service, id);
    void chat.sendMessage({ text });
  },
});
