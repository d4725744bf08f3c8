import { randomUUID } from 'node:crypto';
import { json, noContent } from './answer.ts';
import { type Call, paramsOf, requireText } from './call.ts';
import type { Kernel, Kernels } from './kernel.ts';
import { kernelEvents } from './kernel-events.ts';
import type { Keyring } from './keyring.ts';
import { pageOf } from './page.ts';
import { ServiceProblem } from './problem.ts';
import type { Routes } from './router.ts';
import { scopeOf } from './scope.ts';

const MAX_LANG = 64;
const MAX_IDS = 100;

/**
 * | | |
 * |---|---|
 * | `GET /v2/kernel` | `{items: [kernel], total}` and Link |
 * | `REPORT /v2/kernel` | statistics; `{"ids": […]}` picks kernels, without a body it is paged like the list |
 * | `POST /v2/kernel/create` | `{"lang": "python:3.12"}` → 201, the kernel, Location |
 * | `GET`, `REPORT`, `DELETE /v2/kernel/{id}` | the kernel; its statistics; 204 |
 * | `GET /v2/kernel/{id}/events` | server-sent events |
 *
 * A kernel is `{id, access_key, lang, status, created_at}`; its statistics are `{id, status, uptime}`, uptime in ms.
 */
export function kernelRoutes(kernels: Kernels, keyring: Keyring, clock: () => number): Routes {
  const find = (call: Call, id: string) => kernels.get(scopeOf(call, keyring), id);
  const statistics = (kernel: Kernel) => ({ id: kernel.id, status: 'RUNNING', uptime: clock() - kernel.createdAt });

  return [
    [
      '/v2/kernel',
      {
        GET: (call) => {
          const { items, total, link } = pageOf(call, kernels.list(scopeOf(call, keyring)));
          return json(200, { items: items.map(view), total }, { Link: link });
        },
        REPORT: (call) => {
          const ids = requestedIds(call);
          if (ids !== undefined) return json(200, { items: ids.map((id) => statistics(find(call, id))) });
          const { items, total, link } = pageOf(call, kernels.list(scopeOf(call, keyring)));
          return json(200, { items: items.map(statistics), total }, { Link: link });
        },
      },
    ],
    [
      '/v2/kernel/create',
      {
        POST: (call) => {
          const accessKey = scopeOf(call, keyring);
          const lang = requireText(paramsOf(call), 'lang', MAX_LANG);
          const kernel = { id: randomUUID(), accessKey, lang, createdAt: clock(), ended: new AbortController() };
          kernels.add(accessKey, kernel);
          return json(201, view(kernel), { Location: `${call.origin}/v2/kernel/${kernel.id}` });
        },
      },
    ],
    [
      '/v2/kernel/:id',
      {
        GET: (call, id) => json(200, view(find(call, id))),
        REPORT: (call, id) => json(200, statistics(find(call, id))),
        DELETE: (call, id) => {
          kernels.end(find(call, id));
          return noContent();
        },
      },
    ],
    ['/v2/kernel/:id/events', { GET: (call, id) => kernelEvents(call, find(call, id)) }],
  ];
}

function view(kernel: Kernel) {
  return {
    id: kernel.id,
    access_key: kernel.accessKey,
    lang: kernel.lang,
    status: 'RUNNING',
    created_at: new Date(kernel.createdAt).toISOString(),
  };
}

function requestedIds(call: Call): readonly string[] | undefined {
  const { ids } = paramsOf(call);
  if (ids === undefined) return undefined;
  if (!Array.isArray(ids) || ids.length > MAX_IDS || !ids.every((id) => typeof id === 'string')) {
    throw new ServiceProblem('invalid-params', `The parameter ids must be a list of at most ${MAX_IDS} texts.`);
  }
  return ids;
}
