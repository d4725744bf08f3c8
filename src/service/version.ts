import { ServiceProblem } from './problem.ts';

/** `vX.yyyymmdd` (service-api.md §9): major version and the date of the minor release. */
export interface ApiVersion {
  readonly major: number;
  /** `yyyymmdd` as a number, so that releases compare by value. */
  readonly minor: number;
}

/** The release that brought owner_access_key (service-api.md §4 and §9). */
export const OWNER_ACCESS_KEY_VERSION: ApiVersion = { major: 4, minor: 20190315 };

const SHAPE = /^v([1-9]\d{0,3})\.(\d{8})$/;

export function parseVersion(text: string): ApiVersion | undefined {
  const match = SHAPE.exec(text);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}

/** Whether a client of `version` has what came with `release`. */
export function hasRelease(version: ApiVersion, release: ApiVersion): boolean {
  return version.major === release.major ? version.minor >= release.minor : version.major > release.major;
}

/**
 * The version a request asks for. Older majors and any minor are served; a newer major is one this server cannot know.
 * Throws `unsupported-version`.
 */
export function requireVersion(text: string, latest: ApiVersion): ApiVersion {
  const version = parseVersion(text);
  if (version === undefined) {
    throw new ServiceProblem('unsupported-version', 'The API version must have the shape vX.yyyymmdd.');
  }
  if (version.major > latest.major) {
    throw new ServiceProblem('unsupported-version', `The newest supported major version is v${latest.major}.`);
  }
  return version;
}
