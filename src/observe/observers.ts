import type { Log } from './log.ts';
import type { RequestEvent } from './request-event.ts';

/** Hears of every request and upgrade once, when it is over. Called on the hot path: must be cheap and must not throw. */
export interface RequestObserver {
  request(event: RequestEvent): void;
}

/** A log whose request events go to the observers too. */
export function withObservers(log: Log, observers: readonly RequestObserver[]): Log {
  return {
    ...log,
    request(event) {
      log.request(event);
      for (const observer of observers) observer.request(event);
    },
  };
}

/** Whether the upstream or the gateway failed a request, as opposed to refusing it or being left by its client. */
export function isServerError({ status, aborted, reason }: RequestEvent): boolean {
  return status >= 500 || (aborted && reason !== undefined && reason !== 'CLIENT_STALLED');
}

/** Whether its duration says how long somebody waited: not of a connection kept open, nor of a reply broken off. */
export function isTimed({ kind, eventStream, aborted }: RequestEvent): boolean {
  return kind === 'http' && !eventStream && !aborted;
}
