/** Whether the body is an HTML form. */
export const isForm = (contentType: string | null): boolean =>
  contentType !== null && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType);

export const isJson = (contentType: string | null): boolean =>
  contentType !== null && /^application\/json\s*(;|$)/i.test(contentType);

/** Whether the body has this media type. */
export const hasMediaType = (contentType: string | null, mediaType: string | undefined): boolean =>
  mediaType !== undefined && contentType?.split(';')[0]?.trim().toLowerCase() === mediaType;
