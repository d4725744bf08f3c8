import type { Stream } from './answer.ts';
import type { Call } from './call.ts';
import type { EndReason, Kernel } from './kernel.ts';

/** Milliseconds between two heartbeat comments: shorter than the idle timeouts of common proxies. */
const HEARTBEAT = 15_000;

/**
 * The events of a kernel as a stream of server-sent events: `kernel_started` (id 1), a comment as heartbeat, and
 * `kernel_terminated` (id 2), which ends the stream. A client that comes back with Last-Event-ID hears no event twice.
 */
export function kernelEvents(call: Call, kernel: Kernel): Stream {
  return {
    start: (response, headers) => {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
      if (call.method === 'HEAD') {
        response.end();
        return;
      }
      const heard = Number(call.headers['last-event-id'] ?? 0);
      const event = (id: number, name: string) => `id: ${id}\nevent: ${name}\ndata: {"kernel_id":"${kernel.id}"}\n\n`;
      response.write(heard >= 1 ? ': resumed\n\n' : event(1, 'kernel_started'));

      const heartbeat = setInterval(() => response.write(': heartbeat\n\n'), HEARTBEAT);
      const end = () => {
        const reason: EndReason = kernel.ended.signal.reason;
        response.end(reason === 'terminated' ? event(2, 'kernel_terminated') : '');
      };
      if (kernel.ended.signal.aborted) end();
      else kernel.ended.signal.addEventListener('abort', end, { once: true });
      response.once('close', () => {
        clearInterval(heartbeat);
        kernel.ended.signal.removeEventListener('abort', end);
      });
    },
  };
}
