import { checkEvents } from '../checks/events.ts';
import { EVENTS_PATH } from '../upstream-reply.ts';
import { PAGE_HEADERS, type RequestShape, type Workload } from '../workload.ts';

const SUBSCRIBERS = 200;
const REQUEST: RequestShape = {
  method: 'GET',
  path: EVENTS_PATH,
  headers: { ...PAGE_HEADERS, Accept: 'text/event-stream' },
  body: undefined,
};

export const events: Workload = {
  name: 'events',
  title: 'Server-sent events: 200 subscribers, 50 events a second each',
  unit: 'event',
  check: (peer) => checkEvents(peer, REQUEST),
  run: (target, seconds, { clients, begin }) => {
    return clients.run('events.ts', target, REQUEST, { connections: SUBSCRIBERS, seconds }, begin);
  },
};
