import { kilobyteOfJson } from './workload.ts';

/** Where the upstream answers with the reply below, whatever the method. */
export const REPLY_PATH = '/v2/reply';
/** Where it answers with the credentials it was sent: a JSON object of `authorization` and `cookie`. */
export const SEEN_PATH = '/v2/seen';

export const REPLY_BODY = kilobyteOfJson();

/** On every reply (service-api.md §8). */
export const RATE_HEADERS = {
  'X-RateLimit-Limit': '30000',
  'X-RateLimit-Remaining': '29999',
  'X-RateLimit-Reset': '900',
};
