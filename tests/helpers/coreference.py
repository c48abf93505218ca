"""Small coreference files, written from a compact form."""

from collections.abc import Sequence
from pathlib import Path

Words = Sequence[str]
"""A sentence of CoNLL-U: one `form/UPOS/head/Entity` a word, the last two may be missing; head counts from 1."""

FIELDS = "# global.Entity = eid-etype-head-other"


def conllu_rows(words: Words) -> list[str]:
    rows = []
    for number, word in enumerate(words, start=1):
        form, upos, head, entity = [*word.split("/"), "", "", ""][:4]
        # Without a head: the first word is the root, the others hang on it.
        above = head or ("0" if number == 1 else "1")
        misc = f"Entity={entity}" if entity else "_"
        columns = [str(number), form, form.lower(), upos or "NOUN", "_", "_", above, "dep", "_", misc]
        rows.append("\t".join(columns))
    return rows


def conllu(*documents: Sequence[Words], fields: str = FIELDS) -> str:
    lines = [fields]
    for number, sentences in enumerate(documents):
        lines.append(f"# newdoc id = text{number}")
        for place, words in enumerate(sentences):
            lines += [f"# sent_id = text{number}-{place}", *conllu_rows(words), ""]
    return "\n".join(lines) + "\n"


def columns(*sentences: Sequence[str], name: str = "bc/made/up_01", part: str = "000") -> str:
    """A CoNLL-2012 document; a word is `form/tag/coreference`."""
    lines = [f"#begin document ({name}); part {part}"]
    for sentence in sentences:
        for number, word in enumerate(sentence):
            form, tag, mark = [*word.split("/"), "", ""][:3]
            values = [name, "0", str(number), form, tag or "NN", "*", "-", "-", "-", "Speaker_1", "*"]
            values.append(mark or "-")
            lines.append("   ".join(values))
        lines.append("")
    return "\n".join([*lines, "#end document"]) + "\n"


def litbank(*sentences: Sequence[str], name: str = "9_made_up") -> str:
    """A LitBank document; a word is `form/coreference`."""
    lines = [f"#begin document ({name}); part 0"]
    for sentence in sentences:
        for number, word in enumerate(sentence):
            form, _, mark = word.partition("/")
            lines.append("\t".join([name, "0", str(number), form, *["_"] * 8, mark]))
        lines.append("")
    return "\n".join([*lines, "#end document"]) + "\n"


def written(folder: Path, text: str, name: str = "made.conllu") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
