/** Whether the body is an HTML form. */
export const isForm = (contentType: string | null): boolean =>
  contentType !== null && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType);

export const isJson = (contentType: string | null): boolean =>
  contentType !== null && /^application\/json\s*(;|$)/i.test(contentType);
