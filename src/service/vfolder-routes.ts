import { randomUUID } from 'node:crypto';
import { json, noContent } from './answer.ts';
import { type Call, jsonOf, paramsOf, requireText } from './call.ts';
import type { Keyring } from './keyring.ts';
import { pageOf } from './page.ts';
import { ServiceProblem } from './problem.ts';
import type { Routes } from './router.ts';
import { scopeOf } from './scope.ts';
import type { Vfolder, Vfolders } from './vfolder.ts';

const MAX_NAME = 255;
const NO_BODY = Buffer.alloc(0);

/**
 * | | |
 * |---|---|
 * | `GET /v2/vfolder` | `{items: [vfolder], total}` and Link |
 * | `POST /v2/vfolder/create` | `{"name": "data"}` → 201, the vfolder, Location |
 * | `GET`, `PATCH`, `DELETE /v2/vfolder/{id}` | the vfolder; rename with `{"name": "new"}`; 204 |
 * | `PUT`, `GET /v2/vfolder/{id}/files/{name}` | keep a JSON document (201, or 200 when it replaces one); read it |
 *
 * A vfolder is `{id, access_key, name, files: [name], created_at}`. A document may be any JSON value, so an
 * administrator names the owner of its vfolder in the query only.
 */
export function vfolderRoutes(vfolders: Vfolders, keyring: Keyring, clock: () => number): Routes {
  const find = (call: Call, id: string) => vfolders.get(scopeOf(call, keyring), id);

  return [
    [
      '/v2/vfolder',
      {
        GET: (call) => {
          const { items, total, link } = pageOf(call, vfolders.list(scopeOf(call, keyring)));
          return json(200, { items: items.map(view), total }, { Link: link });
        },
      },
    ],
    [
      '/v2/vfolder/create',
      {
        POST: (call) => {
          const accessKey = scopeOf(call, keyring);
          const name = requireText(paramsOf(call), 'name', MAX_NAME);
          const vfolder = { id: randomUUID(), accessKey, name, createdAt: clock(), files: new Map() };
          vfolders.add(accessKey, vfolder);
          return json(201, view(vfolder), { Location: `${call.origin}/v2/vfolder/${vfolder.id}` });
        },
      },
    ],
    [
      '/v2/vfolder/:id',
      {
        GET: (call, id) => json(200, view(find(call, id))),
        PATCH: (call, id) => {
          const vfolder = find(call, id);
          vfolder.name = requireText(paramsOf(call), 'name', MAX_NAME);
          return json(200, view(vfolder));
        },
        DELETE: (call, id) => {
          const vfolder = find(call, id);
          vfolders.removeVfolder(vfolder);
          return noContent();
        },
      },
    ],
    [
      '/v2/vfolder/:id/files/:name',
      {
        GET: (call, id, name) => {
          const document = find(call, id).files.get(name);
          if (document === undefined) throw new ServiceProblem('not-found', 'There is no such file.');
          return { status: 200, headers: { 'Content-Type': 'application/json' }, body: document };
        },
        PUT: (call, id, name) => {
          const document = jsonOf(call);
          if (document === undefined) throw new ServiceProblem('invalid-params', 'The body must be a JSON document.');
          const vfolder = vfolders.get(scopeOf({ ...call, body: NO_BODY }, keyring), id);
          const replaces = vfolders.putFile(vfolder, name, call.body);
          return json(replaces ? 200 : 201, { name, size: call.body.length });
        },
      },
    ],
  ];
}

function view(vfolder: Vfolder) {
  return {
    id: vfolder.id,
    access_key: vfolder.accessKey,
    name: vfolder.name,
    files: [...vfolder.files.keys()],
    created_at: new Date(vfolder.createdAt).toISOString(),
  };
}
