import type { Log } from './log.ts';

/** What an operator has to know of an upstream's endpoint, once for each change. */
export type EndpointEvent =
  | {
      readonly kind: 'breaker';
      readonly endpoint: string;
      readonly from: 'closed' | 'half-open' | 'open';
      readonly to: 'closed' | 'half-open' | 'open';
    }
  | {
      readonly kind: 'clock';
      readonly endpoint: string;
      readonly state: 'ok' | 'off' | 'alarm';
      /** Its clock minus ours, true within plus or minus `uncertainty`; milliseconds. */
      readonly skew: { readonly ms: number; readonly uncertainty: number };
    };

export type EndpointListener = (event: EndpointEvent) => void;

/** Tells the log. What users feel, or soon may, is a warning or an error; that it is over is not. */
export function endpointAlarm(log: Log): EndpointListener {
  return (event) => {
    const { endpoint } = event;
    if (event.kind === 'breaker') {
      const { from, to } = event;
      if (to === 'open') log.warn({ endpoint, from, to }, 'endpoint taken out of use');
      else log.info({ endpoint, from, to }, to === 'closed' ? 'endpoint in use again' : 'endpoint on trial');
      return;
    }
    const { state, skew } = event;
    const line = { endpoint, skewMs: Math.round(skew.ms), uncertaintyMs: Math.round(skew.uncertainty) };
    if (state === 'alarm') log.error(line, 'the clocks of upstream and gateway are more than 5 min apart');
    else if (state === 'off') log.warn(line, 'the clocks of upstream and gateway are more than 30 s apart');
    else log.info(line, 'the clocks of upstream and gateway agree again');
  };
}
