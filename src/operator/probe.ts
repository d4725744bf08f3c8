import { connect } from 'node:net';

/** In milliseconds. An answer is kept for a while: readiness is asked for by anybody, and must not turn into a flood. */
const TIMEOUT = 1000;
const KEPT = 2000;

/** Whether an endpoint takes connections. Nothing is sent on them. */
export interface Probe {
  reaches(origin: string): Promise<boolean>;
}

export function createProbe(clock: () => number = () => performance.now()): Probe {
  const answers = new Map<string, { readonly at: number; readonly answer: Promise<boolean> }>();
  return {
    reaches(origin) {
      const known = answers.get(origin);
      if (known !== undefined && clock() - known.at < KEPT) return known.answer;
      const answer = takesConnections(new URL(origin));
      answers.set(origin, { at: clock(), answer });
      return answer;
    },
  };
}

function takesConnections({ protocol, hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: number, timeout: TIMEOUT });
    const answer = (reached: boolean) => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', () => answer(true));
    socket.once('timeout', () => answer(false));
    socket.once('error', () => answer(false));
  });
}
