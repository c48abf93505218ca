/** Canvases that are sharp on every screen. */

/** Sizes the canvas for the screen, empties it and returns a context in CSS pixels. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * ratio));
  const high = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser has no canvas");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** A canvas of width x height pixels, one colour (0xAABBGGRR) each. */
export function picture(pixels: Uint32Array, width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const bytes = new Uint8ClampedArray(pixels.buffer as ArrayBuffer, pixels.byteOffset, pixels.byteLength);
  canvas.getContext("2d")?.putImageData(new ImageData(bytes, width, height), 0, 0);
  return canvas;
}

/** Text in at most `room` CSS pixels, cut with an ellipsis. */
export function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const characters = Array.from(text.slice(0, 200));
  if (text.length <= 200 && context.measureText(text).width <= room) return text;
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${characters.slice(0, middle).join("")}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${characters.slice(0, low).join("")}…`;
}
