import { encode } from 'uqr';
import { type Html, html } from './html.ts';

/** Light modules around the symbol, without which readers do not find it (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4;

/** Draws a QR code as SVG, dark on light in either colour scheme. `label` is its accessible name. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const runs = data.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '1' : '0'))
        .join('')
        .matchAll(/1+/g),
    ].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`),
  );
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"
shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/>
<path fill="#000" d="${runs.join('')}"/></svg>`;
}
