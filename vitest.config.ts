import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

/** Suites that run a second time with front ends that speak HTTP/2 over TLS. */
const HTTP2_TOO = [
  'test/e2e/relay.test.ts',
  'test/edge/{door,session-endpoints,site}.test.ts',
  'test/contract/{headers,signing,tenants}.test.ts',
  'test/advisories/{cross-site,responses}.test.ts',
];
/** Suites about HTTP/2 itself. */
const HTTP2_ONLY = ['test/edge/http2.test.ts'];

/** Suites that run a second time with front ends that speak HTTP/1.1 over TLS. */
const TLS_TOO = ['test/e2e/{relay,websocket}.test.ts'];

function again(name: string, http: 'HTTP/1.1 over TLS' | 'HTTP/2', include: string[]): TestProjectConfiguration {
  return { test: { name, include, provide: { http }, testTimeout: 30_000, hookTimeout: 60_000 } };
}

export default defineConfig({
  test: {
    // Most suites wait for sockets and processes; leaving a core free would double the time.
    maxWorkers: '100%',
    projects: [
      { test: { name: 'architecture', include: ['test/architecture.test.ts'] } },
      again('http2', 'HTTP/2', [...HTTP2_TOO, ...HTTP2_ONLY]),
      again('tls', 'HTTP/1.1 over TLS', TLS_TOO),
      {
        test: {
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: ['test/architecture.test.ts', ...HTTP2_ONLY],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
