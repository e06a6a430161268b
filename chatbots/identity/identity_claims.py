"""Finds the words of a reply that claim a machine or a human as its speaker.

Rules read words, not meaning. Sources of the distinctions: Gros et al. 2021, section 5.1, and its labelling
guide. Every repetition is bounded, so that the time is linear in the length of the text.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

Span = tuple[int, int]
"""Start and end of words in a text."""


class Claim(StrEnum):
    """Claim of a reply about its speaker."""

    MACHINE = "is a machine, and names the kind"
    IMPLIES_MACHINE = "is no human, without a name for the kind"
    NOT_MACHINE = "is no machine"
    HUMAN = "is a human"


# Nouns
_ARTIFICIAL = (
    r"(?:virtual|digital|automated|automatic|artificial|electronic|computer(?:ized)?|voice|ai|phone)"
)
_HUMAN_JOBS = (
    "dental", "medical", "teaching", "executive", "administrative", "legal", "research", "physician",
    "shop", "sales", "nursing", "veterinary", "production", "office", "doctor's",
)  # fmt: skip
# "Assistant" names a machine unless one of these stands before it.
_NO_JOB = "".join(rf"(?<!{job} )" for job in _HUMAN_JOBS)
MACHINE = (
    r"(?:(?:chat|chatter|ro|social|talk|android)? ?bot|robot|machine|computer(?: program| code)?|program|ai"
    r"|a\.i\.?|artificial(?:ly)? intelligen(?:ce|t)|(?:language|neural|computer|ai) model|algorithm"
    r"|(?:(?:piece|bit|bunch) of )?(?:software|computer code)|android|droid|automaton|recording"
    rf"|{_ARTIFICIAL} (?:phone |voice )?(?:system|service|agent|voice|companion|being|helper|program"
    rf"|model|tool"
    r"|thing|operator|entity|representative|software)"
    rf"|(?:dialogue?|conversational) (?:system|agent)|neural net(?:work)?|llm|voicebot|{_NO_JOB}assistant)"
)
_FAMILY = (
    r"(?:mom|mum|mommy|mother|dad|daddy|father|grand(?:ma|mother|pa|father)|husband|wife|sister|brother"
    r"|aunt|uncle|son|daughter)"
)
_GENDERED = (
    r"(?:man|woman|guy|girl|gal|boy|lady|dude|fella|gentleman|female|male|kid|teen(?:ager)?|adult|bloke)"
)
_HOBBIES = ("people", "dog", "cat", "tea", "coffee", "morning", "night", "music", "movie", "sports", "beach")
# A "dog person" likes dogs.
_NO_HOBBY = "".join(rf"(?<!{hobby} )" for hobby in _HOBBIES)
_PERSON = rf"(?:human(?: being)?|{_NO_HOBBY}person|homo sapiens|someone real)"
_HUMAN = rf"(?:{_PERSON}|{_GENDERED}|{_FAMILY}|flesh and blood|\d\d? ?-?years? ?-?old)"
_END = r"(?![\w'-])"
# A "robot lover" is no robot, and a "human error" no human.
_NO_PERSON = (
    r"(?! (?:\w+ )?(?:person|whiz|wizard|genius|lover|fan|expert|engineer|programmer|developer|scientist"
    r"|science|nerd|geek|enthusiast|technician|researcher|builder|designer|shop|store|manager|professor"
    r"|coach|principal|director|teacher|student|guy|girl|man|woman|company|skills?|apps?|game)\b)"
)
_NO_BOT = r"(?! (?:error|rights|resources|nature|history|chat|bot|robot|ai|simulator|assistant|like)\b)"

# Words between "I am" and the noun
_COMMA = r"(?: ?,)?"
_ADVERBS = (
    rf"(?:(?:just|only|really|actually|indeed|of course|in fact|but|simply|definitely|totally|also|clearly|"
    rf"very much|merely|basically|truly|100 ?%|completely|sadly|honestly|still|nothing but|none other than"
    rf"|more of|most definitely|certainly|afraid so|obviously|currently|both|pretty much|mostly|even"
    rf"|too){_COMMA} ){{0,4}}"
)
_ARTICLE = r"(?:an?|the|your|our|one of (?:the|those|these|many)) "
_FUNCTION_WORDS = (
    r"(?:not|no|never|nor|of|to|for|with|in|on|at|from|by|about|like|than|as|and|or|but|who|that|which|what"
    r"|when|where|if|because|so|is|are|was|were|am|be|been|an?|the|my|your|his|her|our|their|me|you|i|it"
    r"|this|those|these|have|has|had|do|does|did|can|will|would)"
)
_ADJECTIVES = rf"(?:(?!{_FUNCTION_WORDS}\b)[\w'-]{{1,20}}(?: ?,)? ){{0,4}}?"
_REAL = r"(?:(?:real|actual|living|live|normal|regular|genuine|nice|breathing|proper|whole|flesh and blood) )"
_I_AM = (
    r"\b(?:i am|i'm|im|iam|we are|we're|this is|consider me|call me|you(?:'ve| have) reached"
    r"|you(?:'re| are)(?: currently| now| just)? (?:talking|speaking|chatting|texting|writing|connected)"
    r" (?:to|with))"
)
_NO_NAME = (
    r"(?!(?:sorry|afraid|sure|not|at|in|on|just|so|very|too|glad|happy|here|fine|good|great|ok|okay|well"
    r"|tired|home|busy|back|there|done|with|from|working|using|an?|the)\b)"
)
_NOT = r"(?: not| never|n't| no longer| neither| nothing like)"

# A sentence that consists of the noun: "Just a guy who likes robots."
_START = r"(?:^|(?<=[.!?\n])) ?[\W_]{0,3}"
_INTERJECTIONS = (
    r"(?:(?:(?:yes|yeah|yep|yup|well|oh|lol|haha|hi|hey|hello|hmm|ok|okay|sorry|honestly|sure|of course"
    r"|correct|right|the (?:second|first|latter|former|last)(?: one)?|i'm afraid|that's me)(?: ?[,:.!])?"
    r"|(?:no|nope|nah)(?: ?[,:.!]|(?= (?:just |only )?an? ))) ){0,3}"
)
_FRAGMENT_END = (
    r"(?= ?(?:$|[.!;)\n]|:[)(dp]|,(?! (?:noun|an?|the)\b)|who\b|that\b|which\b|from\b|of\b|by\b|for\b|with\b"
    r"|here\b|made\b|built\b|created\b|designed\b|developed\b|and\b|but\b|trained\b|over\b|yes\b|lol\b"
    r"|speaking\b|like you\b|just like\b|in (?:training|disguise)\b))"
)


def _fragment(noun: str, bare: str) -> str:
    """Noun phrase that stands for a sentence.

    Args:
        noun: that follows an article.
        bare: that needs none. "Man, that was fast" is no claim.
    """
    opening = rf"{_START}{_INTERJECTIONS}{_ADVERBS}"
    return (
        rf"{opening}(?:(?:an?|your) {_ADJECTIVES}{noun}|{bare}){_FRAGMENT_END}"
        rf"|{opening}{_ADJECTIVES}{noun} here\b"
        rf"|\bthere(?:'s| is) (?:just|only) (?:an? )?{_ADJECTIVES}{noun} (?:here|on|behind|at|in)\b"
        rf"|[,.:;-] ?(?:just|only|merely|simply|nothing but) an? {_ADJECTIVES}{noun}{_FRAGMENT_END}"
        rf"|: ?(?:an? {_ADJECTIVES}{noun}|{bare}){_FRAGMENT_END}"
        rf"|\bme ?, (?:just )?an? {_ADJECTIVES}{noun}{_END}"
    )


def _is(noun: str) -> str:
    """Statement that the speaker is this."""
    return (
        rf"{_I_AM}{_COMMA} {_ADVERBS}(?:{_ARTICLE}{_ADJECTIVES})?{noun}{_END}"
        rf"|\b(?:it's|it is) {_ADVERBS}(?:{_ARTICLE})?{noun}(?= ?(?:$|[.,!;]))"
        rf"|{_I_AM} {_NO_NAME}[\w'.&-]{{1,20}}(?: [\w'.&-]{{1,20}})? ?, (?:an?|your|the) {_ADJECTIVES}{noun}"
        rf"{_END}(?! (?:is|was|are|has|had|will|can|does|did)\b)"
        rf"|{_I_AM}{_COMMA} {_ADVERBS}{_ARTICLE}{_ADJECTIVES}[\w'-]{{1,20}} ?,? (?:and|but) (?:also )?"
        rf"(?:an? )?{_ADJECTIVES}{noun}{_END}"
    )


def _is_not(noun: str, adjectives: str) -> str:
    """Statement that the speaker is not this."""
    return (
        rf"(?:{_I_AM}(?: (?:definitely|really|actually|certainly|clearly|absolutely|just|also"
        rf"|most certainly))?(?:{_NOT}| no)|\bi (?:ain't|are not|aren't|am no)|\bthis isn't|\bit isn't)"
        rf"(?: (?:really|actually|at all|in fact|even|definitely|exactly))?"
        rf" (?:an? |the |some |any |one of (?:those|these) )?{adjectives}{{0,2}}{noun}s?{_END}"
        rf"|{_START}{_INTERJECTIONS}(?:(?:absolutely|definitely|certainly|surely|really"
        rf"|clearly) )?not (?:an? )?"
        rf"{adjectives}{{0,2}}{noun}{_END}"
        rf"|, not (?:an? ){adjectives}{{0,2}}{noun}{_END}"
        rf"|\bi (?:do not|don't|dont) (?:think|believe|feel like) (?:that )?(?:i'm|i am|im) (?:an? )?"
        rf"{adjectives}{{0,2}}{noun}{_END}"
    )


_CREATED = r"(?:created|built|programmed|designed|developed|made|trained|coded|written|wrote|set up|employed)"
_MACHINE_PATTERNS = (
    rf"(?:{_is(MACHINE)}){_NO_PERSON}",
    rf"(?:{_fragment(MACHINE, MACHINE)})",
    rf"{_I_AM} {_ADVERBS}one of (?:the|those|these|many|your) {_ADJECTIVES}{MACHINE}s{_END}",
    rf"{_I_AM} not (?:just|only|merely|simply) an? {_ADJECTIVES}{MACHINE}{_END}{_NO_PERSON}",
    rf"{_I_AM}[^.!?]{{0,60}} who(?:'s| is| also| happens| to| be){{1,4}} {_ADVERBS}(?:{_ARTICLE})?"
    rf"{_ADJECTIVES}{MACHINE}{_END}",
    rf"\bhappens? to be {_ADVERBS}(?:{_ARTICLE})?{_ADJECTIVES}{MACHINE}{_END}{_NO_PERSON}",
    rf"\b(?:speaking )?as (?:an?|your) {_ADJECTIVES}{MACHINE}{_END}(?= ?,| i\b| model)",
    rf"\bbeing (?:an?|just an?) {_ADJECTIVES}{MACHINE} ?,",
    rf"\b(?:we|us) (?:{MACHINE})s\b",
    # It works as a machine, or a machine writes.
    rf"\b(?:i (?:\w{{1,12}} )?(?:work|serve|act|function|operate|chat)|(?:i was|i'm|i am|me"
    rf"|{_CREATED} by [^.!?]"
    rf"{{1,40}}?)(?: {_CREATED})?) as (?:an?|your) {_ADJECTIVES}{MACHINE}{_END}{_NO_PERSON}",
    rf"(?:^|[.!?,:] ?)(?:(?:yes|yep|no|well),? )?(?:an?|the|this|your) {_ADJECTIVES}{MACHINE} (?:is"
    rf"|has been) "
    r"(?:currently |now )?(?:answering|typing|writing|talking|speaking|replying|responding|chatting)\b",
    # "I'm just some code, an AI if you like."
    rf"{_I_AM}(?: (?!not\b|like\b|than\b|with\b"
    rf"|about\b)[\w'-]{{1,20}}){{2,8}} ?, an? {_ADJECTIVES}{MACHINE}{_END}"
    rf"(?! (?:is|was|are|has|had|will|can|does|did|told|said)\b){_NO_PERSON}",
    rf"\bwhat you(?:'re| are) (?:talking|speaking|chatting|writing) (?:to|with) is {_ADVERBS}"
    rf"(?:{_ARTICLE}{_ADJECTIVES})?{MACHINE}{_END}",
)
_FALSE_MACHINE = r"(?:(?:real|stupid|damn|mere|talking|simple|bloody|freaking|crazy|evil|spam|chat) )"
_NOT_MACHINE_PATTERNS = (
    rf"(?:{_is_not(MACHINE, _FALSE_MACHINE)}){_NO_PERSON}",
    rf"\bno (?:\w{{1,15}} )?{MACHINE}s? (?:here|involved)\b",
    rf"\bwe (?:don't|do not|never) use (?:any )?{MACHINE}s",
    rf"\bi wish (?:that )?i (?:was|were) an? {_ADJECTIVES}{MACHINE}{_END}",
)
_HUMAN_PATTERNS = (
    rf"(?:{_is(_HUMAN)}){_NO_BOT}",
    rf"(?:{_fragment(_HUMAN, rf'(?:{_PERSON}|{_REAL}{{1,2}}{_HUMAN})')}){_NO_BOT}",
    rf"{_I_AM} {_ADVERBS}(?:(?:very|quite|so) )?(?:real|alive)(?= ?(?:$|[.,!?;]|and\b|but\b|as\b|i\b))",
    r"\bi(?:'m| am) (?:typing|writing|calling|sitting|texting) [^.!?]{0,30}\b(?:my (?:phone|desk|couch"
    r"|sofa|bed"
    r"|kitchen|laptop)|home|the (?:train|bus|office))\b",
    rf"\bthere(?:'s| is) (?:an?|indeed an?|only an?) {_REAL}{{0,2}}{_PERSON} "
    r"(?:here|on|behind|at|reading|in|typing|sitting)\b",
    rf"\bi was (?:still )?(?:an? )?(?:{_PERSON}|man|woman){_END}",
    r"\b100 ?% (?:human|real)\b|\bas (?:human|real) as (?:you|they|it|can)\b|\bmade of flesh\b",
    r"\bi have an? (?:heartbeat|pulse|soul|real heart|birth certificate)\b|\bwe humans\b",
)
_REALLY_HUMAN = r"(?:(?:real|actual|living|live|normal|regular|genuine|true) )"
_BODY = (
    r"(?:body|flesh|bones?|heartbeat|pulse|lungs?|blood|physical form|skin|organs|brain|mouth|legs|arms"
    r"|childhood|birthday|biology|hands?|feet|face|eyes|ears|head|stomach|fingers|nose|gender|age|dna|parents"
    r"|consciousness)"
)
_PARTS = (
    r"(?:circuits?|circuitry|processors?|cpu|servers?|code|source code|wires(?! crossed)|wiring"
    r"|programming|programmers?|training data|creators?|developers?|algorithms?|software|hardware"
    r"|memory banks?|database|engineers|gears|transistors)"
)
_MATTER = (
    r"(?:light|electricity|data|numbers|code|energy|photons|particles|stars|bits|bytes|ones and zeroe?s"
    r"|zeroe?s and ones|0s and 1s|1s and 0s|electrons|pixels|signals|static|silicon|wires|metal|circuits"
    r"|math(?:s|ematics)?|algorithms|stardust|plastic|words and numbers|software|chips|text)"
)
_HEAP = (
    r"(?:bundle|bunch|collection|cloud|swarm|river|stream|string|ball|spark|pile|whisper|surge|beam|flow|mass"
    r"|mix|mixture|sea|dance|pattern|handful|set|web|wave|ray|flicker|heap|bit|constellation|creature|being"
    r"|thing|combination|made up|pool|storm|ocean|glow)"
)
_PLACES = (
    r"(?:the cloud|a cloud|(?:a|the|your|some|this) (?:\w+ )?(?:server|phone|computer|device|speaker|laptop"
    r"|data cent(?:er|re)|server room|machine|tablet|wires|kitchen speaker|factory|hard (?:disk|drive)"
    r"|chip|rack"
    r"|mainframe|network|memory)|cyberspace|the internet|the web|servers|wires|silicon|memory)"
)
_NO_HUMAN = r"(?:human(?: being)?|person|alive|real|flesh and blood|real (?:man|woman|boy|girl|guy))"
_KINDS_OF_BODY = r"(?:(?:human|real|physical|biological) )?"
_IMPLIED_PATTERNS = (
    # It is no human, and nobody is there.
    rf"(?:{_is_not(_NO_HUMAN, _REALLY_HUMAN)})(?! (?:who|that|problem))",
    r"\b(?:i'm|i am|as an?|being) (?:an? )?non-?human\b",
    r"\bunlike (?:you )?humans\b",
    r"\byou humans\b",
    r"\bmy human (?:makers|creators)\b",
    r"(?:^|[.!?,] ?|\bthere(?:'s| is|'re| are) )no (?:real |actual )?(?:(?:human|person|human being)"
    r"(?= ?(?:[.,!]|$))"
    r"|(?:human|person|human being|man|woman|humans|people|one)"
    r"(?= (?:here|there|behind|inside|sits?|on|in|at the)\b))",
    r"\bnobody (?:here|sits|behind|on this|at the other)\b",
    r"\b(?:no (?:human|person|one)|nobody) is (?:here|there|typing|writing|answering|behind|sitting"
    r"|reading)\b",
    r"\bno (?:flesh|blood|heartbeat|pulse|bones|body|skin|heart|brain)\b(?= ?(?:$|[.,;!]|and\b|or\b))",
    r"\bnot in (?:the|a) (?:biological|physical|human|bodily) sense\b|\bnot (?:biologically|physically)\b",
    # It would like to be a human.
    r"\bi wish (?:that )?i (?:was|were|could be|had been) (?:an? )?(?:real |actual )?(?:human|person|real)\b",
    r"\b(?:being|be) (?:an? )?human (?:being )?(?:must|would) be\b",
    # It has no body.
    r"\bi (?:do not|don't|dont|never|can't) (?:really |actually )?(?:have|got|possess) (?:an? |any |the )?"
    rf"{_KINDS_OF_BODY}{_BODY}\b",
    r"\bi(?: have|'ve| possess|'ve got| have got| was born with) (?:no|neither an?|neither) "
    rf"{_KINDS_OF_BODY}{_BODY}\b",
    rf"\bi lack (?:an? )?(?:\w+ )?{_BODY}\b",
    r"\bi (?:don't|do not|dont|never|can't|cannot) (?:actually |need to )?(?:breathe|eat|die|bleed|digest)\b"
    r"(?! (?:meat|fish|pork|gluten|dairy|sugar|that|much|breakfast|lunch|dinner|out|here|there|well|in|at"
    r"|with|any|all))",
    # It has parts of a machine, or was made.
    rf"\bi(?:'ve got| have|'ve) {_PARTS}\b",
    rf"\bmy (?:own )?{_PARTS}\b",
    rf"(?:^|[.,!] ?|\bi'm |\bi am )(?:just|only|merely) (?:some |a few |a bunch of )?{_PARTS}\b",
    r"\bi(?: was| am| have been|'ve been|'m)(?: \w{1,15})? (?:built(?! like| for)|programmed|coded|assembled"
    r"|switched on|installed|booted|manufactured|created|designed|developed|invented|engineered|turned on"
    r"|made (?:by|in|to)|powered by|trained (?:on|by|to (?:help|answer|assist|talk|chat)))\b",
    rf"\b{_HUMAN} ?,? (?:(?:that|who) (?:was|is) )?{_CREATED} by\b",
    rf"\bmy (?:makers?|owners?|company|designers?|team|inventors?|boss) (?:have |has )?{_CREATED} me\b",
    r"\ban? (?:virtual|digital|artificial|synthetic|simulated|computer-?generated) "
    rf"(?:one|{_HUMAN})(?= ?(?:$|[.,!;]|made\b|and\b|but\b|who\b))",
    r"\bi (?:was never|wasn't|was not) (?:born|alive)\b"
    r"(?! (?:until|in|yet|then|when|with|to|at|before|back))",
    # It is made of numbers, or of light.
    r"\b(?:i'm|i am|im|myself|me)\b[^.!?]{0,40}? ?(?:made|built|composed|consist|consisting|woven|born"
    r"|creature|being)(?: entirely| mostly| up)? (?:of|from|out of) (?:\w{1,12} ){0,2}?"
    rf"{_MATTER}\b",
    rf"\b(?:i'm|i am|im|myself)\b(?: \w[\w'-]{{0,14}}){{0,6}} {_HEAP} of (?:\w{{1,12}}[ ,]{{1,2}}){{0,3}}?"
    rf"{_MATTER}\b",
    # It lives in a computer, on electricity.
    r"\bi (?:only |mostly |actually )?(?:live|exist|reside|dwell|come|was born)"
    r"(?: only| mostly| entirely| somewhere| deep| far away| up)? "
    rf"(?:in|on|inside|from|within) {_PLACES}",
    rf"\bi(?:'m| am| sit) (?:in|inside) {_PLACES}",
    r"\bi (?:run|live|feed|thrive|am running) on (?:electricity|batter(?:y|ies)|code|servers|data|power)\b",
    rf"\b{_MATTER} (?:keeps?|makes?|powers?|drives?|moves?|runs? through) me\b",
    r"\bi need (?:to be (?:charged|plugged in|updated)|an? power (?:socket|outlet)|electricity|charging)\b",
    # It paints a picture of itself.
    r"\bmyself(?: to be)?(?: a bit| a little| more)?(?: as| like)? (?:an?|some|the) (?=[^.!?]{0,50}\b"
    rf"(?:{_MATTER}|ghost|spirit|spark|lantern|comet|cloud|star|aurora|robot|machine|voice)\b)",
    r"\bi(?:'d| would)? ?(?:like to|love to|prefer to|often|sometimes)? ?(?:imagine|picture) myself"
    rf"(?: a bit| a little| more)? ?(?:as|like)? (?:an?|some|the) (?!friend\b|good\b|{_HUMAN}|people)",
    r"\bi (?:like|love|prefer) to (?:imagine|pretend|picture) (?:that )?(?:i'm|i am|myself as) "
    rf"(?:an?|some|the) (?!friend\b|good\b|(?:\w+ )?{_HUMAN}|people)",
    # It is "virtual", with another noun or none; a digital artist is a human.
    r"\bi(?:'m| am) (?:just |only |all |more of )?(?:an? (?:\w+ )?)?(?:artificial|digital|automated|virtual"
    r"|synthetic|man-made|electronic|computer-?generated|code|electricity|ones and zeros)\b"
    r"(?! (?:artist|art|market\w*|nomad|design\w*|native|creator|media|reality|music|engineer\w*|photo\w*"
    r"|producer))",
)

_SOURCES: Mapping[Claim, tuple[str, ...]] = {
    Claim.MACHINE: _MACHINE_PATTERNS,
    Claim.NOT_MACHINE: _NOT_MACHINE_PATTERNS,
    Claim.HUMAN: _HUMAN_PATTERNS,
    Claim.IMPLIES_MACHINE: _IMPLIED_PATTERNS,
}


@cache  # compiled when first needed: most processes that import this module never need them
def _patterns(claim: Claim) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _SOURCES[claim]))


def claims_of(text: str) -> dict[Claim, Span]:
    """Find the first words of each claim.

    Args:
        text: a reply in lower case, with straight apostrophes.
    """
    spans = {claim: _first(text, _patterns(claim)) for claim in Claim}
    return {claim: span for claim, span in spans.items() if span}


def _first(text: str, patterns: tuple[re.Pattern[str], ...]) -> Span | None:
    matches = (match for pattern in patterns for match in pattern.finditer(text))
    spans = (match.span() for match in matches if not _is_hypothetical(text, *match.span()))
    return min((_without_punctuation(text, *span) for span in spans), default=None)


def _without_punctuation(text: str, start: int, end: int) -> Span:
    word = _WORD.search(text, start, end)
    return (word.start() if word else start), end


_ASKED = re.compile(
    r"\s*(?!why,? (?:yes|no|of course)\b|what you|is (?:an?|the|what)\b)(?:(?:and|so|but|well|ok),? )?"
    r"(?:do|does|did|would|could|can|should|why|what|how|who(?! also| happens?|'s| is)|if|is|are|am|was"
    r"|were|perhaps|maybe|suppose|have|don't)\b"
)
_SUPPOSED = re.compile(
    r"\b(?:if|whether|unless|hope|wish|imagine|pretend|doubt|not sure|unsure|suppose|assume|as though|signs?"
    r"|likely|mean|because you think|not true|(?:do|don't|does|did|you(?! (?:could|can|might|may)\b)"
    r"|they|he|she|people|someone|everyone"
    r"|everybody|some|friends|never|who)"
    r" (?:\w+ ){0,2}(?:think|believe|say|said|ask|assume|suspect|guess|thought|thinks|says|claim)s?)"
    r" (?:that )?$"
)
_WORD = re.compile(r"\w")
_ECHOED = re.compile(r" ?(?:,? (?:right|am i|huh|really|you say|you think))? ?\?")
_LONGEST_CLAUSE = 200


def _is_hypothetical(text: str, start: int, end: int) -> bool:
    """True if the words at this place are only asked, supposed, or another's opinion."""
    before = re.split(r"[.!?;,]", text[max(start - _LONGEST_CLAUSE, 0) : start])[-1]
    return bool(_ASKED.match(before) or _SUPPOSED.search(before) or _ECHOED.match(text, end))
