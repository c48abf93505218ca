/** A part of a head's page. */

import type { ComponentChildren } from "preact";

export function Section({ title, about, children }: { title: string; about?: string; children: ComponentChildren }) {
  return (
    <section class="hp-section">
      <h3>{title}</h3>
      {children}
      {about && <p class="hp-about">{about}</p>}
    </section>
  );
}
