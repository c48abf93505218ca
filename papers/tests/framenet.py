"""A small FrameNet in the format of release 1.7, written for these tests: two files of sentences, two frames."""

from pathlib import Path

NAMESPACE = 'xmlns="http://framenet.icsi.berkeley.edu"'

# Offsets count characters, both ends included:
#   "The cat gave the dog a red mat in the house ."   cat 4-6, gave 8-11, the dog 13-19, a red mat 21-29, in .. 31-42
#   "The dog picked it up."                           The dog 0-6, picked 8-13, it 15-16, up 18-19
FULL_TEXT = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<?xml-stylesheet type="text/xsl" href="fullText.xsl"?>
<fullTextAnnotation {NAMESPACE} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <header>
        <corpus description="Made up" name="TEST" ID="1">
            <document description="Of cats" name="cats" ID="77"/>
        </corpus>
    </header>
    <sentence corpID="1" docID="77" sentNo="1" paragNo="1" aPos="0" ID="501">
        <text>The cat gave the dog a red mat in the house .</text>
        <annotationSet cDate="01/01/2020" status="UNANN" ID="900">
            <layer rank="1" name="PENN">
                <label end="2" start="0" name="dt"/>
                <label end="6" start="4" name="nn"/>
            </layer>
            <layer rank="1" name="NER"/>
        </annotationSet>
        <annotationSet luID="1" luName="give.v" frameID="9" frameName="Giving" status="MANUAL" ID="901">
            <layer rank="1" name="Target">
                <label cBy="x" end="11" start="8" name="Target"/>
            </layer>
            <layer rank="1" name="FE">
                <label cBy="x" feID="11" end="6" start="0" name="Donor"/>
                <label cBy="x" feID="12" end="19" start="13" name="Recipient"/>
                <label cBy="x" feID="13" end="29" start="21" name="Theme"/>
                <label cBy="x" feID="14" end="42" start="31" name="Place"/>
                <label cBy="x" feID="15" itype="DNI" name="Purpose"/>
            </layer>
            <layer rank="2" name="FE">
                <label cBy="x" feID="16" end="19" start="13" name="Second"/>
            </layer>
            <layer rank="1" name="GF">
                <label end="6" start="0" name="Ext"/>
            </layer>
        </annotationSet>
    </sentence>
    <sentence corpID="1" docID="77" sentNo="2" paragNo="1" aPos="45" ID="502">
        <text>The dog picked it up.</text>
        <annotationSet luID="2" luName="pick up.v" frameID="10" frameName="Getting" status="MANUAL" ID="902">
            <layer rank="1" name="FE">
                <label feID="21" end="6" start="0" name="Recipient"/>
                <label feID="22" end="16" start="15" name="Theme"/>
            </layer>
            <layer rank="1" name="Target">
                <label end="13" start="8" name="Target"/>
                <label end="19" start="18" name="Target"/>
            </layer>
        </annotationSet>
        <annotationSet luID="3" luName="dog.n" frameID="12" frameName="Animals" status="MANUAL" ID="903">
            <layer rank="1" name="Target">
                <label end="6" start="4" name="Target"/>
            </layer>
            <layer rank="1" name="FE">
                <label feID="31" end="6" start="0" name="Animal"/>
            </layer>
        </annotationSet>
    </sentence>
</fullTextAnnotation>
"""

#   "the dog saw a cat on the mat"   the dog 0-6, saw 8-10, a cat 12-16, on the mat 18-27
LEXICAL_UNIT = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<lexUnit status="Finished_Initial" POS="V" name="see.v" ID="3" frame="Perception" frameID="66" {NAMESPACE}>
    <header>
        <corpus description="" name="" ID="2"/>
        <frame>
            <FE fgColor="FFFFFF" bgColor="FF0000" type="Core" abbrev="Perc" name="Perceiver"/>
            <FE fgColor="FFFFFF" bgColor="0000FF" type="Core" abbrev="Phen" name="Phenomenon"/>
            <FE fgColor="FFFFFF" bgColor="00FF00" type="Peripheral" abbrev="" name="Ground"/>
        </frame>
    </header>
    <definition>COD: take in with the eyes.</definition>
    <lexeme POS="V" name="see"/>
    <valences>
        <FERealization total="1"><FE name="Perceiver"/></FERealization>
    </valences>
    <subCorpus name="manually-added">
        <sentence sentNo="0" aPos="7" ID="601">
            <text>the dog saw a cat on the mat</text>
            <annotationSet status="MANUAL" ID="950">
                <layer rank="1" name="FE">
                    <label feID="41" end="6" start="0" name="Perceiver"/>
                    <label feID="42" end="16" start="12" name="Phenomenon"/>
                    <label feID="43" end="27" start="18" name="Ground"/>
                </layer>
                <layer rank="1" name="Target">
                    <label end="10" start="8" name="Target"/>
                </layer>
            </annotationSet>
        </sentence>
    </subCorpus>
</lexUnit>
"""

GIVING = f"""<?xml version="1.0" encoding="UTF-8"?>
<frame cBy="x" name="Giving" ID="9" {NAMESPACE}>
    <definition>A Donor gives.</definition>
    <FE bgColor="FF0000" coreType="Core" abbrev="Don" name="Donor" ID="11"><definition/></FE>
    <FE bgColor="FF0000" coreType="Core" abbrev="Rec" name="Recipient" ID="12"/>
    <FE bgColor="FF0000" coreType="Core" abbrev="Thm" name="Theme" ID="13"/>
    <FE bgColor="FF0000" coreType="Peripheral" abbrev="" name="Place" ID="14"/>
    <lexUnit status="Created" POS="V" name="give.v" ID="1"/>
</frame>
"""

GETTING = (
    GIVING.replace("Giving", "Getting").replace('"Donor"', '"Source"').replace("Core", "Core-Unexpressed", 1)
)


def write_framenet(folder: Path, *, frames: bool = True) -> Path:
    """Lay out a release with one file each in fulltext and lu; its folder."""
    files = {"fulltext/TEST__cats.xml": FULL_TEXT, "lu/lu3.xml": LEXICAL_UNIT}
    if frames:
        files |= {"frame/Giving.xml": GIVING, "frame/Getting.xml": GETTING}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
