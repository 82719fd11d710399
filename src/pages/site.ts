interface Legate {
  readonly auth?: { readonly type: string } | undefined;
}

/** The parts of the service that pages need. A Platform is a Site. */
export interface Site {
  /** Public address without a trailing slash. */
  readonly baseUrl: string;
  readonly config: {
    readonly service: {
      readonly name: string;
      readonly banner?: string | undefined;
      readonly bannerDe?: string | undefined;
    };
    readonly http: { readonly restPath: string; readonly trustedOrigins: readonly string[] };
    readonly users?: { readonly passwords: 'on' | 'off' | 'adminsOnly' };
    /** The servers behind the gateway. */
    readonly gateway?: {
      readonly servers: Readonly<Record<string, { readonly legate?: Legate | undefined }>>;
    };
  };
}

/** Returns the text at the top of each page, in the language of the reader. */
export const bannerOf = ({ config: { service } }: Site, language: string): string | undefined =>
  (language === 'de' ? service.bannerDe : undefined) ?? service.banner;

/**
 * Returns a path below the REST mount: `/account/devices` -> `/legate/account/devices` if http.restPath is `/legate`.
 */
export const pathOf = (site: Site, path: string): string => site.config.http.restPath.replace(/\/$/, '') + path;
