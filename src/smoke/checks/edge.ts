import { type Check, NotApplicable } from '../check.ts';
import { member } from '../exchange.ts';

const FOREIGN = 'https://smoke-foreign.example';

/** What the edge answers to anybody: who is alive, which paths, Hosts and methods there are, and CORS. */
export const edgeChecks: readonly Check[] = [
  {
    id: 'edge.livez',
    says: 'GET /-/livez says that the process is alive',
    rule: 'design §11',
    needs: 'outside',
    async run(c) {
      const exchange = await c.nobody.fetch('GET', '/-/livez');
      exchange.must(exchange.status === 200, '200');
    },
  },
  {
    id: 'edge.no-route',
    says: 'a path that no route, file or endpoint has is 404 no-route',
    rule: 'design §11',
    needs: 'outside',
    async run(c) {
      const exchange = await c.nobody.fetch('GET', '/-/smoke-no-such-path');
      exchange.mustRefuse(404, 'no-route');
    },
  },
  {
    id: 'edge.unknown-host',
    says: 'a Host that no tenant has is served nothing',
    rule: 'design §10, §11',
    needs: 'outside',
    async run(c) {
      const exchange = await c.nobody.fetch('GET', '/-/session', { host: 'smoke-nobody.invalid' });
      exchange.mustRefuse(421, 'unknown-tenant', true);
    },
  },
  {
    id: 'edge.unknown-method',
    says: 'a method the Service does not have is 405 with Allow',
    rule: 'design §7; service-api.md §4',
    needs: 'outside',
    async run(c) {
      const exchange = await c.nobody.fetch('PROPFIND', '/v2');
      exchange.mustRefuse(405, 'method-not-allowed', true);
      const allowed = exchange.header('allow')?.split(/, */) ?? [];
      const missing = ['GET', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !allowed.includes(method));
      exchange.must(missing.length === 0, `an Allow that lists ${missing.join(', ')} too`);
    },
  },
  {
    id: 'edge.cors-foreign',
    says: 'a foreign origin may read nothing across origins, and gets no leave by preflight',
    rule: 'design §9, §11',
    needs: 'outside',
    async run(c) {
      const headers = [['Origin', FOREIGN] as const];
      const preflight = [...headers, ['Access-Control-Request-Method', 'POST'] as const];
      for (const exchange of [
        await c.nobody.fetch('GET', '/-/session', { headers }),
        await c.nobody.fetch('GET', '/v2', { headers }),
        await c.nobody.fetch('OPTIONS', '/v2', { headers: preflight, proof: [] }),
      ]) {
        exchange.must(exchange.header('access-control-allow-origin') === undefined, 'no Access-Control-Allow-Origin');
      }
    },
  },
  {
    id: 'edge.cors-own',
    says: 'a preflight of the tenant’s own origin is answered at the edge',
    rule: 'design §9',
    needs: 'outside',
    async run(c) {
      const { origin } = c.nobody.site;
      const headers = [['Origin', origin] as const, ['Access-Control-Request-Method', 'POST'] as const];
      const exchange = await c.nobody.fetch('OPTIONS', '/v2', { headers, proof: [] });
      exchange.must(exchange.status === 204, '204');
      exchange.must(
        exchange.header('access-control-allow-origin') === origin,
        `Access-Control-Allow-Origin: ${origin}`,
      );
      exchange.must(exchange.header('access-control-allow-credentials') === 'true', 'credentials to be allowed');
    },
  },
  {
    id: 'edge.tenant',
    says: 'the Host belongs to the tenant that was named',
    rule: 'design §10, §11',
    needs: 'outside',
    async run(c) {
      if (c.tenant === undefined) throw new NotApplicable('no --tenant was named');
      const exchange = await c.nobody.fetch('GET', '/-/session');
      exchange.must(member(exchange.json, 'tenant') === c.tenant, `the tenant ${c.tenant}`);
    },
  },
];
