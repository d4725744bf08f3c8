import { onReply } from './api.js';
import { byId, element } from './element.js';
import { explain } from './explain.js';
import { kindOf } from './result.js';

/** Draws how far the last request came: to the gateway, or through it to the Service. */
export function startFlow() {
  const flow = byId('flow');
  onReply((reply) => {
    flow.dataset.reached = reply.status === 0 ? 'none' : reply.relayed ? 'service' : 'gateway';
    flow.dataset.kind = kindOf(reply.status);
    byId('flow-caption').replaceChildren(element('code', {}, `${reply.method} ${reply.path}`), ' ', explain(reply));
  });
}
