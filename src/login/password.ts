import { Problem } from '../problem.ts';
import type { User } from '../tenant.ts';
import type { FailedAttempts } from './attempts.ts';
import type { HashQueue } from './hash-queue.ts';
import type { Identity, LoginAttempt, LoginMethod } from './method.ts';
import { decoyHash, MAX_PASSWORD_BYTES, verifyPassword } from './password-hash.ts';

const MAX_NAME_LENGTH = 256;

/** User name and password against the tenant's users. */
export function passwordMethod(options: { attempts: FailedAttempts; queue: HashQueue }): LoginMethod {
  const { attempts, queue } = options;

  async function login({ tenant, body, client }: LoginAttempt): Promise<Identity> {
    const settings = tenant.login.password;
    if (settings === undefined) throw new Problem('unknown-login-method', 'This tenant offers no login by password.');
    const { username, password } = body;
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new Problem('invalid-body', 'A login by password needs the strings username and password.');
    }
    // Refused on the length alone, which the caller knows: no hash can be of such a password, so its speed tells nothing
    // of any user, and no attempt is counted because none was made.
    if (username.length > MAX_NAME_LENGTH || Buffer.byteLength(password) > MAX_PASSWORD_BYTES) throw refused();

    const reservation = await attempts.reserve({ tenant: tenant.name, user: username, client });
    const user = settings.users.get(username);
    let matches: boolean;
    try {
      // Made for known names too: choosing it takes time that grows with the number of users.
      const decoy = decoyHash(username, hashesOf(settings.users));
      matches = await queue.run(() => verifyPassword(user?.passwordHash ?? decoy, password));
    } catch (thrown) {
      await reservation.cancel();
      throw thrown;
    }
    if (user === undefined || !matches) throw refused();
    await reservation.succeeded();
    return { subject: user.name, roles: user.roles, method: 'password', lifetime: settings.lifetime };
  }

  return { name: 'password', offeredBy: (tenant) => tenant.login.password !== undefined, login };
}

function hashesOf(users: ReadonlyMap<string, User>): string[] {
  return Array.from(users.values(), (user) => user.passwordHash);
}

/** One answer for a wrong name and a wrong password. */
function refused(): Problem {
  return new Problem('invalid-credentials', 'The user name or the password is wrong.');
}
