import { checkAnswer } from '../checks/answer.ts';
import type { RequestShape, Workload } from '../workload.ts';

/** Connections that each send the same request as soon as they have their answer. */
export function closedLoop(settings: {
  readonly name: string;
  readonly title: string;
  readonly request: RequestShape;
  /** What the upstream answers. */
  readonly answer: string | Buffer;
  readonly connections: number;
}): Workload {
  const { name, title, request, answer, connections } = settings;
  return {
    name,
    title,
    unit: 'request',
    check: (peer) => checkAnswer(peer, request, answer),
    run: (target, seconds, { load }) => load.run(target, request, { connections, seconds }),
  };
}
