declare module '*.css';
declare module '*.svg?url' {
  const url: string;
  export default url;
}

/** Schemas of the service name it for free-form objects, which the console does not check. */
declare const Buffer: { byteLength(text: string): number };
