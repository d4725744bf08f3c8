import { send } from './api.js';
import { byId, whileBusy } from './element.js';
import { showReply, showText } from './result.js';

const OFTEN = 10;

/** `GET /v2`: the latest API version, and a request to see the quota fall by. */
export function startAsking() {
  const output = byId('ask-result');
  showText(output, 'The Service answers with its latest API version.');

  async function ask() {
    const reply = await send('GET', '/v2');
    showReply(output, reply, `Version ${reply.data?.version}`);
    return reply.ok;
  }

  byId('ask').addEventListener('click', (event) => whileBusy(event.currentTarget, ask));
  byId('ask-often').addEventListener('click', (event) =>
    whileBusy(event.currentTarget, async () => {
      for (let count = 0; count < OFTEN && (await ask()); count++);
    }),
  );
}
