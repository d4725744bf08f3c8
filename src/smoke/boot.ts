import type { SmokeOptions } from './context.ts';
import { localConfig, localOptions, makeIdentities, startUpstreams } from './local.ts';
import { startLocalGateway } from './local-gateway.ts';

/** A gateway of our own with its upstreams, on free ports of 127.0.0.1 and with secrets made up for this run. */
export async function boot(): Promise<{ options: SmokeOptions; close(): Promise<void> }> {
  const identities = await makeIdentities();
  const upstreams = await startUpstreams(identities);
  const { serviceOrigin: service, recorder } = upstreams;
  try {
    const gateway = await startLocalGateway(localConfig(identities, { service, recorder: recorder.origin }));
    return {
      options: localOptions(identities, recorder, gateway.port),
      async close() {
        await gateway.close();
        await upstreams.close();
      },
    };
  } catch (error) {
    await upstreams.close();
    throw error;
  }
}
