import { NotApplicable } from './check.ts';
import { type Exchange, member } from './exchange.ts';
import { cookieOf, FrontEnd, type Journal, type Site } from './front-end.ts';
import type { Recorder } from './recorder.ts';
import type { Reply } from './wire.ts';

export type Credentials = Readonly<Record<string, string>> & { readonly method: string };

/** What is known of a gateway that this process started itself. */
export interface Inside {
  readonly recorder: Recorder;
  /** The tenant whose upstream is the recorder, and one on an https origin. */
  readonly recorded: Site;
  readonly secure: Site;
  /** What every tenant's upstream is told, `vX.yyyymmdd`. */
  readonly version: string;
  /** Of the recorded tenant's one keypair. */
  readonly recorderKey: { readonly accessKey: string; readonly secretKey: string };
  readonly visitorAccessKey: string;
  readonly adminAccessKey: string;
  readonly admin: Credentials;
  /** A user whose keypair has a quota of two requests. */
  readonly limited: Credentials;
}

export interface SmokeOptions {
  readonly site: Site;
  /** How to sign in; undefined: as a visitor where that is offered. `none`: not at all. */
  readonly login?: Credentials | 'none' | undefined;
  /** The tenant's name, where it is to be checked. */
  readonly tenant?: string | undefined;
  /** Whether a group may be created and deleted on a gateway that is not ours. */
  readonly mutations?: boolean | undefined;
  /** Present for a gateway of our own. */
  readonly inside?: Inside | undefined;
  /** What must never be seen. */
  readonly secrets?: readonly string[] | undefined;
}

/** What the checks of one run share: the front end under test, sessions that are opened once, every answer so far. */
export class SmokeContext implements Journal {
  readonly nobody: FrontEnd;
  readonly secrets: readonly string[];
  readonly replies: Reply[] = [];
  readonly tenant: string | undefined;
  readonly #options: SmokeOptions;
  readonly #open = new Map<string, Promise<FrontEnd>>();
  readonly #toEnd: FrontEnd[] = [];
  #login: Promise<Exchange> | undefined;

  constructor(options: SmokeOptions) {
    this.#options = options;
    this.secrets = options.secrets ?? [];
    this.tenant = options.tenant;
    this.nobody = new FrontEnd(options.site, this);
  }

  record(reply: Reply): void {
    this.replies.push(reply);
  }

  /** Of a gateway of our own only: the runner never asks for it elsewhere. */
  get inside(): Inside {
    if (this.#options.inside === undefined) throw new NotApplicable('not visible from outside');
    return this.#options.inside;
  }

  get isInside(): boolean {
    return this.#options.inside !== undefined;
  }

  /** How this run signs in. */
  async credentials(): Promise<Credentials> {
    const { login } = this.#options;
    if (login === 'none') throw new NotApplicable('needs a session: --login none was given');
    if (login !== undefined) return login;
    const methods = await this.methods();
    if (!methods.includes('visitor')) {
      throw new NotApplicable(`needs a session: give --login, one of ${methods.join(', ') || 'none that is offered'}`);
    }
    return { method: 'visitor' };
  }

  /** The login methods the tenant offers. */
  async methods(): Promise<string[]> {
    const list = member((await this.nobody.fetch('GET', '/-/session')).json, 'methods');
    const names = Array.isArray(list) ? list.map((method) => member(method, 'name')) : [];
    return names.filter((name) => typeof name === 'string');
  }

  /** The answer to the run's first sign-in. */
  login(): Promise<Exchange> {
    this.#login ??= this.credentials().then((credentials) => this.nobody.signIn(credentials));
    return this.#login;
  }

  /** Somebody signed in, the same for every check. */
  user(): Promise<FrontEnd> {
    return this.#once('user', async () => this.nobody.withCookie(cookieOf(await this.login())));
  }

  /** Signed in afresh, for a check that spoils its session; ended with the run at the latest. */
  async freshUser(): Promise<FrontEnd> {
    return this.signIn(this.nobody, await this.credentials());
  }

  async signIn(from: FrontEnd, credentials: Credentials): Promise<FrontEnd> {
    const user = from.withCookie(cookieOf(await from.signIn(credentials)));
    this.#toEnd.push(user);
    return user;
  }

  /** Signed in at the tenant whose upstream is the recorder. */
  recorded(): Promise<FrontEnd> {
    return this.#once('recorded', () => this.signIn(new FrontEnd(this.inside.recorded, this), { method: 'visitor' }));
  }

  /** Somebody who may administer groups: elsewhere only who was named by --login, and only with --mutations. */
  administrator(): Promise<FrontEnd> {
    if (this.isInside) return this.#once('admin', () => this.signIn(this.nobody, this.inside.admin));
    if (!this.#options.mutations) throw new NotApplicable('needs --mutations and the --login of an administrator');
    return this.user();
  }

  /** Ends every session this run has opened. A gateway that does not answer any more is no news here. */
  async close(): Promise<void> {
    const open = await Promise.allSettled(this.#open.values());
    const users = open.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    await Promise.allSettled(
      [...new Set([...users, ...this.#toEnd])].map((user) => user.fetch('DELETE', '/-/session')),
    );
  }

  #once(name: string, open: () => Promise<FrontEnd>): Promise<FrontEnd> {
    const known = this.#open.get(name) ?? open();
    this.#open.set(name, known);
    return known;
  }
}
