import { json } from './answer.ts';
import type { Routes } from './router.ts';

/** `GET /v2`: the latest API version, `vX.yyyymmdd` (service-api.md §4). */
export function versionRoutes(latest: string): Routes {
  return [['/v2', { GET: () => json(200, { version: latest }) }]];
}
