"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN; a field
that has a default may be left out.
"""

from headscope.pages.shapes.base import Shape
from headscope.pages.shapes.head import (
    Bar,
    CardLine,
    Chart,
    ExampleMap,
    HeadExample,
    HeadPage,
    NearHead,
    Section,
    SentenceLinks,
    Stacked,
    TypicalSentence,
)
from headscope.pages.shapes.views import (
    About,
    AlsoStored,
    AtlasData,
    AtlasInfo,
    AtlasStack,
    Chunk,
    Colouring,
    Embedded,
    Finding,
    FindingPart,
    HeadMap,
    ModelInfo,
    Neurons,
    Reading,
    Seen,
    SeenRequest,
    Selection,
    SelectionRow,
    StackShape,
    StoredMaps,
    Tokens,
    ViewInfo,
)
