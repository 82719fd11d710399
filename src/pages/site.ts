/** What pages need to know about the service; a Platform is one. */
export interface Site {
  /** Public address without a trailing slash. */
  readonly baseUrl: string;
  readonly config: {
    readonly service: { readonly name: string };
    readonly http: { readonly restPath: string; readonly trustedOrigins: readonly string[] };
  };
}

/** A path of the REST mount: `/account/devices` -> `/legate/account/devices` where http.restPath is `/legate`. */
export const pathOf = (site: Site, path: string): string => site.config.http.restPath.replace(/\/$/, '') + path;
