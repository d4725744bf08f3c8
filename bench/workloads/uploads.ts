import { checkAnswer } from '../checks/answer.ts';
import { UPLOAD_PATH } from '../upstream-reply.ts';
import { JSON_HEADERS, jsonOfSize, type RequestShape, type Workload } from '../workload.ts';

const UPLOADS = 20;
const BYTES = 100 * 2 ** 20;
/** Checked with a body that no peer keeps in memory either, so that the check takes no longer than it must. */
const CHECKED = 2 ** 20;

const shape = (bytes: number): Omit<RequestShape, 'body'> => ({
  method: 'POST',
  path: UPLOAD_PATH,
  headers: { ...JSON_HEADERS, 'Content-Length': `${bytes}` },
});

export const uploads: Workload = {
  name: 'uploads',
  title: '20 uploads of 100 MB at once',
  unit: 'upload',
  once: true,
  check: (peer) => {
    const body = jsonOfSize(CHECKED);
    return checkAnswer(peer, { ...shape(CHECKED), body }, JSON.stringify({ received: CHECKED }));
  },
  // The client makes the body as it sends it.
  run: (target, seconds, { clients }) => {
    const request = { ...shape(BYTES), body: undefined };
    return clients.run('uploads.ts', target, request, { connections: UPLOADS, seconds });
  },
};
