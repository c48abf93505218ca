"""What the views are given: the one definition of the data interface.

The server answers with these shapes, the single file and the widget embed them, and the TypeScript types of the
front end are made from them. Names are the same in JSON. A number that does not exist is null, never NaN.
"""

from headscope.pages.shapes.atlases import (
    AtlasData,
    AtlasStack,
    Colouring,
    Finding,
    FindingPart,
)
from headscope.pages.shapes.base import (
    Shape,
)
from headscope.pages.shapes.heads import (
    AblationEffect,
    Comparison,
    DistanceFeature,
    ExampleMap,
    HeadExample,
    HeadPage,
    NearHead,
    ProfilePoint,
    RelationScore,
    RoleShare,
    TypicalSentence,
)
from headscope.pages.shapes.offers import (
    About,
    AtlasInfo,
    Chunk,
    Embedded,
    ModelInfo,
    Problem,
    Status,
)
from headscope.pages.shapes.predictions import (
    Edit,
    Guess,
    Option,
    Predicted,
    PredictRequest,
)
from headscope.pages.shapes.texts import (
    Neurons,
    Seen,
    SeenRequest,
    StackShape,
    Tokens,
)

__all__ = [
    "AblationEffect",
    "About",
    "AtlasData",
    "AtlasInfo",
    "AtlasStack",
    "Chunk",
    "Colouring",
    "Comparison",
    "DistanceFeature",
    "Edit",
    "Embedded",
    "ExampleMap",
    "Finding",
    "FindingPart",
    "Guess",
    "HeadExample",
    "HeadPage",
    "ModelInfo",
    "NearHead",
    "Neurons",
    "Option",
    "PredictRequest",
    "Predicted",
    "Problem",
    "ProfilePoint",
    "RelationScore",
    "RoleShare",
    "Seen",
    "SeenRequest",
    "Shape",
    "StackShape",
    "Status",
    "Tokens",
    "TypicalSentence",
]
