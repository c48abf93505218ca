/** Saving what is shown: as a picture for a paper or a slide, and as numbers. */

export interface Saved {
  /** The file's name, without its ending. */
  name: string;
  /** The picture as an SVG document; null while there is none. */
  svg: () => string | null;
  /** The numbers, the first row being the heading. */
  table: () => (string | number | null)[][];
}

/** Buttons that save a picture as PNG or SVG and its numbers as CSV. */
export function Save({ name, svg, table }: Saved) {
  const picture = (use: (text: string) => void) => () => {
    const text = svg();
    if (text !== null) use(text);
  };
  return (
    <div class="hs-switch hs-save" role="group" aria-label="Save">
      <button type="button" title="Save the picture as PNG" onClick={picture((text) => void savePng(name, text))}>
        PNG
      </button>
      <button
        type="button"
        title="Save the picture as SVG, for a paper"
        onClick={picture((text) => download(`${name}.svg`, new Blob([text], { type: "image/svg+xml" })))}
      >
        SVG
      </button>
      <button
        type="button"
        title="Save the numbers as CSV"
        onClick={() => download(`${name}.csv`, new Blob([csv(table())], { type: "text/csv" }))}
      >
        CSV
      </button>
    </div>
  );
}

/** Rows as RFC 4180 has them; no value is an empty field. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  const field = (value: string | number | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** What a picture needs of the page's styles once it stands alone. */
const STYLES = ["fill", "stroke", "stroke-width", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

/** A drawing of the page as a document of its own, on the page's ground. */
export function standalone(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = drawing.querySelectorAll<SVGElement>("*");
  copy.querySelectorAll<SVGElement>("*").forEach((element, index) => {
    const style = getComputedStyle(originals[index]!);
    for (const property of STYLES) element.style.setProperty(property, style.getPropertyValue(property));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const attribute of ["class", "tabindex", "role", "style"]) copy.removeAttribute(attribute);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(drawing).getPropertyValue("--paper").trim() || "#ffffff");
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

const SHARP = 2; // pixels of the PNG a pixel of the picture
const LARGEST = 8192; // pixels a side that every browser can draw

async function savePng(name: string, text: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(SHARP, LARGEST / Math.max(image.width, image.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(`${name}.png`, blob));
}

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.download = name.replace(/[^\w.()-]+/g, "-");
  link.href = URL.createObjectURL(content);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
