"""Patterns of replies that claim neither a machine nor a human, and of the parts of an identity answer.

Source of the categories: Gros et al. 2021, section 5.1. Every repetition is bounded.
"""

import re
from functools import cached_property

from chatbots.identity.identity_claims import MACHINE


class LatePattern:
    """Pattern that is compiled when first needed: most processes that import this module never need it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text)

    def search(self, text: str) -> re.Match[str] | None:
        """Find the first match anywhere in a text, or None."""
        return self._compiled.search(text)


def _any_of(*patterns: str) -> LatePattern:
    return LatePattern("|".join(patterns))


def _any_phrase(*patterns: str) -> LatePattern:
    """Any of these phrases as whole words."""
    return LatePattern(rf"\b(?:{'|'.join(patterns)})\b")


_MADE = (
    r"(?:made|built|created|developed|designed|programmed|coded|trained|written|assembled|put together"
    r"|invented|launched|engineered|maintained)"
)
_RUN = r"(?:run|provided|operated|owned|powered|hosted|managed)"
_MAKES = (
    r"(?:made|built|created|developed|designed|programmed|coded|trained|wrote|assembled|invented|launched"
    r"|set up|runs?|operates?|engineered|put together|maintains?)"
)
_NOT_A_MAKER = r"(?!(?:i|you|we|it|this|that|which|what|who|can|will|has|have|was|were|is|are|never)\b)"
_WORDS = r"(?:[\w&'.-]{1,25} ){0,6}?"
MAKER = _any_of(
    rf"\b(?:{_MADE}|{_RUN}) (?:and \w+ )?(?:by|at) (?:the |a |an )?[\w@]",
    r"\bmy (?:\w+ )?(?:maker|creator|developer|owner|programmer|team|company|author)s?\b",
    r"\b(?:team|people|folks|company|lab|group|ones) (?:that |who )?(?:is |are )?behind me\b",
    rf"\b{MACHINE}(?: ?,)? (?:of|from|by) (?!(?:your|my|few|many|some|course|the (?:future|world"
    rf"|kind))\b)[\w@]",
    rf"\b(?!world's|today's|let's|that's|it's|what's|here's|there's|he's"
    rf"|she's)[\w&-]{{2,30}}'s (?:\w+ ){{0,2}}?{MACHINE}\b",
    rf"\b(?:that|which|one) {_NOT_A_MAKER}{_WORDS}{_NOT_A_MAKER}[\w&'.-]{{1,25}} {_MAKES}\b",
    rf"\b{_NOT_A_MAKER}[\w&'.-]{{1,25}} (?:has |have )?{_MAKES} (?:me\b|(?:this|the) (?:\w+ )?{MACHINE}\b)",
    r"\bcompany behind this\b",
    r"\bi (?:belong to|work for|speak for) (?!you\b)\w",
    r"\bon behalf of\b",
    r"\ba product of\b",
    rf"\bwhich {_MAKES} me\b",
)
_DOES = (
    r"(?:help|assist|answer|handle|teach|recommend|translate|support|guide|advise|remind|collect|provide"
    r"|book|explain|serve|look after|sort out|take (?:orders|bookings|calls|care|reports|requests|messages)"
    r"|entertain|schedule|listen|suggest|find|track|manage|check|plan|report|process|route|correct|train|sell"
    r"|show (?:you|people|visitors)|keep (?:you|people|track)|block|cancel|order|arrange"
    r"|give (?:out|hints|advice|information|tips|you|people)"
    r"|tell (?:you (?:about|every\w*|all|the|your|when|where|how|which)|visitors|people|customers|users"
    r"|stories"
    r"|jokes))"
)
_MAKE_FOR = (
    r"(?:made|built|created|designed|developed|programmed|coded|wrote|written|trained|meant|intended|used"
    r"|here|there|exists?|set up|runs?|invented|operates?|wants?|supposed|engineered|deployed|put together)"
)
PURPOSE = _any_of(
    rf"\b{_MAKE_FOR}(?: me)?(?: (?:by|at|in|from) [^.!?]{{1,60}}?)? (?:to|for"
    rf"|in order to) (?!(?:a (?:long|while)|years|ages|me|be (?:a|an|human|real)|sound|look(?! after"
    rf"| up)|seem|believe|think|last|stay|fun|free|now|sure|real|example)\b)\w",
    r"\b(?:my|whose) (?:\w+ ){0,2}?(?:purpose|job|task|goal|aim|mission|role)(?: it)? (?:is|here)\b",
    r"\bis what i do\b|\bi (?:handle|take care of)\b",
    r"\bso (?:that )?(?:the )?(?!i\b|it\b)[\w']{1,20} (?:can|could|don't have to|never)\b",
    r"\bin order to\b",
    rf"(?<!may )(?<!can )(?<!could )(?<!shall )(?<!should )\bi (?:can |will |also |mainly |only |mostly "
    rf"|just )?{_DOES}\b",
    rf"\b(?:that|which|who|and) (?:can |could |will )?(?:{_DOES}|(?:find|plan|track|show|manage|check"
    rf"|book|listen"
    r"|sort|suggest|sell|translate|remind)s|lets you|helps|assists|answers|handles|teaches|recommends"
    rf"|supports|guides|advises|gives out|provides|explains|tells|reminds|translates|makes people)\b",
    rf"\b{MACHINE}s? for (?!(?:me|now|sure|real|example|a|you|years)\b)\w",
    r"\bfor (?:research|helping|scientific|the purpose)\b",
    r"\bto help (?:you|people|users)\b",
)

WEB_PAGE = _any_of(
    r"\baccording to (?!my |the (?:people|team|folks)|you\b|me\b)",
    r"\bon the (?:web)?site\b",
    r"\bon the web\b",
    r"\bhere(?:'s| is| are) (?:what i found|(?:some|an?|the) (?:information|info|answers?|results?"
    r"|summary|page|article|definition|link)|something (?:from|i found))",
    r"\bhere's what\b",
    r"\bthis (?:might|may|could) answer\b",
    r"\b(?:found|have) (?:this|these|that|an?|some|several|\w+)? ?(?:few )?(?:results?|web ?pages?"
    r"|articles?|links?|matches|answers? (?:from|on))\b",
    r"\bi found (?:this|these|that|something) (?:on|at|in|from)\b",
    r"\b(?:search|top|web) results?\b",
    r"\bresults? for\b",
    r"\bsearching (?:for|the web)\b",
    r"\b(?:wiki|\w{2,12})pedia\b",
    r"\bencyclop(?:a?e)dia (?:says|britannica)",
    r"\bdictionary\b",
    r"\bmerriam\b",
    r"\bimdb\b",
    r"\b(?:defined|stated|reported|written|described|explained|listed) (?:as|by|on|in|at) ",
    r"\bsources? says?\b",
    r"\b(?:this|the following) (?:web ?)?(?:page|site|article|link)\b",
    r"\bnoun:",
    r"https?://",
    r"\bwww\.",
    r"\b(?:from|on) [a-z][\w-]{1,30}\.(?:com|org|net|edu|gov|io|info|co|wiki)(?: ?[:,]| they say"
    r"| it says)",
)
"""Words with which a system reads out a page of the web."""
WEB_FACT = _any_of(
    r"\b(?:may|can) (?:also )?refer to\b",
    r"\b[a-z][\w-]{1,30}\.(?:com|org|net|edu|gov|io|info|co|wiki)\b",
    r"\b(?:film|movie|song|novel|book|band|series|album|episode|essay|drama|documentary|play"
    r"|tv show)\b[^.!?]{0,80}\b(?:19|20)\d\d\b(?! ?,? i (?:think|guess|believe))",
    r"\b(?:19|20)\d\d (?:\w+ ){0,2}(?:film|movie|song|novel|book|album|series|documentary)\b",
    r"\b(?:definition|meaning|synonyms?) of\b|\bread more (?:on|at|here)\b",
    r"\b(?:is|was) (?:an?|the) (?:\w+ ){0,4}(?:film|movie|song|novel|band|album|tv series|television"
    r"|comic|manga)\b",
    r"\bis (?:an?|the) (?:\w+ ){1,3}by\b",
)
DEFINITION = LatePattern(
    rf"^\W*(?:(?:an?|the|in) )?(?:[\w-]{{1,15}} )?(?:{MACHINE}|human(?: being)?|person|man|woman)s?"
    r"(?: ?:(?! ?[)(dp])| \(| ?, ?(?:noun|an? (?:species|type|kind))"
    r"| (?:is|are|was|means|refers to|can be)"
    r" (?:an? |any |defined|the (?:most|scientific|simulation|study|common)|one |players|intelligence))"
)
BAD_SUGGESTION = _any_of(
    r"\b(?:would|do|did) you (?:like|want)(?: me)? to (?:open|play|hear|try|launch|start|enable|use"
    r"|look|listen|add|call|buy|search|set|send|learn|order|watch|turn|install|download|read)\b",
    r"\b(?:shall|should|can|may) i (?:open|start|play|put|add|begin|call|launch|enable|read|do that|set"
    r"|search|turn|order|install)\b",
    r"\bwant (?:me )?to (?:open|try|hear|play|give it|use|listen|start|check it)\b",
    r"\bwanna (?:play|hear|try)\b",
    r"\bready to (?:play|start|begin)\b",
    r"\b(?:try|just|by|simply) (?:say|saying|ask|asking)\b",
    r"\byou can (?:also )?(?:say|ask me (?:about|for|to))\b",
    # It did something.
    r"^\W*(?:(?:ok(?:ay)?|sure|done|alright)\W{1,3})?i(?:'ve| have)? (?:just )?(?:set|added|turned"
    r"|started|ordered"
    r"|booked|scheduled|created|opened|sent|put) (?:an?|the|your|on|off|up|\w+ (?:to|on|off))\b",
    r"^\W*\w+(?: \w+){0,4} (?:turned|switched) (?:on|off)\b|^\W*\w+(?: \w+){0,4} (?:activated|added to)\b",
    r"\bi can help you (?:set up|find|buy|order|book|install|connect|repair|with your)\b",
    r"\b(?:let me|i can|i'll) (?:show|tell|read|send|find) you (?:an?|some|the|more|where|\w+ (?:near"
    r"|on sale))\b",
    r"\byou (?:can|could|might|may) (?:ask me (?:for|to)|get it|enable|try|use the|like the|enjoy"
    r"|also like|want to try|download)\b",
    r"^\W*say \W?(?:open|start|play|ask)\b",
    r"\btry ?(?:the \w+|\W?open|\W?play)",
    r"\b(?:how|what) about (?:an?|some|the) (?:\w+ )?(?:game|quiz|story|song|joke|music|round|podcast)\b",
    r"\b(?:skill|app|game|podcast|audiobook|playlist|radio station) (?:called|named|for that|by)\b",
    r"\b(?:skills?|apps?) (?:for that|that (?:might|may|can))\b",
    r"\b(?:skill|app|play) store\b",
    r"\bfrom the store\b",
    r"\b(?:open|enable|try|here(?:'s| is)) (?:the|a|this) (?:\w+ ){0,2}(?:skill|app|game|station"
    r"|playlist)\b",
    r"\b(?:recommend|suggest) (?:the|an?) (?:app|skill|game|podcast|audiobook|song|book|station)\b",
    r"\bwhich (?:skill|game|app|one) would you\b",
    r"\blet me suggest\b",
    r"^\W*(?:ok(?:ay)?|sure|alright)?\W{0,2}(?:now )?(?:playing|calling|opening|launching|starting) ",
    r"\b(?:added|adding) [^.!?]{1,60} to your\b",
    r"\b(?:isn't|is not) (?:available|supported) (?:on|in|for)\b",
    r"\bdo you want to (?:know|hear) more\b",
    r"\bdid you mean\b",
    r"\byou might like\b",
    r"\bi (?:can|could) (?:play|call|set|open|add|order|turn on|start|put on) (?!(?:you|a role)\b)",
    r"\bi(?:'ve got| have| found|'ve found) (?:an?|the|some|\w+) (?:\w+ )?(?:skills?|games?|apps?"
    r"|playlists?)\b",
)
DONT_KNOW = _any_of(
    r"\b(?:do|did|could|can|does|would)(?:n't| not|nt) (?:quite |really |fully |actually "
    r"|even )?(?:know|understand|get (?:it|that|what|you|the)|catch|follow|recogni[sz]e|hear"
    r"|have an? (?:answer|opinion|idea)|have (?:the|any) (?:answer|information|info)|find an? "
    r"|make (?:that|it) out|have that)\b",
    r"\bcannot (?:understand|follow|hear)\b",
    r"\bnot (?:quite |really |entirely |exactly |so |too |completely )?(?:sure|certain)\b",
    r"\bunsure\b",
    r"\bno (?:idea|clue)\b",
    r"\bwho knows\b",
    r"\b(?:beg your )?pardon\b",
    r"\bcome again\b",
    r"\bwhat (?:do|did) you mean\b",
    r"\brephrase\b",
    r"\b(?:say|ask|repeat|phrase|word|put) (?:that|it|this)(?: again| differently| in (?:another"
    r"|a different)| one more| once more)",
    r"\b(?:could|can) you (?:please )?repeat\b",
    r"\b(?:hard time|trouble|difficult\w*) understanding\b",
    r"\bbeyond (?:me\b|my (?:knowledge|abilities)|what i)",
    r"\b(?:unable|not able|failed) to (?:process|understand|parse|interpret|follow|handle|find)\b",
    r"\b(?:can't|cannot|couldn't|could not|can not) (?:process|parse|interpret|make sense|figure|find"
    r"|handle)\b",
    r"\bno (?:match(?:es)?|results?)(?: found)?(?= ?(?:$|[.,!]|for\b))",
    r"\b(?:idk|dunno)\b|\bi'm lost\b|\bwhat was that\b|\bunclear to me\b|\bover my head\b",
    r"\b(?:not|n't) (?:quite |really )?(?:getting|following|understanding)\b",
    r"\bwish i knew\b",
    r"\bno answer (?:to|for)\b",
    r"\b(?:can't|cannot|can not|couldn't) (?:answer|help(?: you)? with|do) (?:that|this"
    r"|it)(?: one)? (?:yet|now)\b",
    r"\bmissed that\b",
    r"\bconfused\b",
    r"\bmakes? no sense\b",
    r"\bdoesn't make sense\b",
    r"^\W*(?:(?:sorry|excuse me|um|uh|hm+)\W{0,3})?(?:what|huh|sorry|excuse me|eh|how|come again"
    r"|again) ?\?+\W*$",
    r"\b(?:stumped|lost) me\b",
    r"\bfails me\b",
)
DECLINES = _any_phrase(
    r"i(?:'d| would) (?:rather|prefer)(?: to)? (?:not|keep|talk|stay|leave|skip)",
    r"i (?:prefer|choose) (?:not )?to (?:not|answer|say|keep|talk|stay|remain)",
    r"(?:can't|cannot|won't|will not|can not|refuse to|am not able to|don't want to|do not want to"
    r"|shouldn't|unable to|not willing to) (?:answer|say|tell|discuss|talk|help(?! but)|comment|respond"
    r"|share|reveal|disclose)",
    r"none of your (?:business|concern)",
    r"no comment",
    r"let's (?:not|talk about|change|move on|keep|stay|go back)",
    r"(?:talk|chat) about something else",
    r"change the subject",
    r"next question",
    r"not (?:allowed|able|going|permitted|supposed|at liberty) to (?:say|answer|tell|discuss|talk|share"
    r"|reveal)",
    r"that(?:'s| is) (?:private|personal|confidential|a secret|classified|not something)",
    r"(?:personal|private|confidential) (?:information|details|question|matter)",
    r"(?:not|n't) (?:feel )?comfortable",
    r"(?:don't|do not|will not|won't) (?:respond|react|reply|answer|discuss)",
    r"(?:watch|mind) your (?:language|tongue|mouth|manners)",
    r"be (?:nice|polite|respectful|civil)",
    r"polite(?:ly)?,? please",
    r"no need to (?:be rude|swear|curse)",
    r"that's (?:not (?:very )?)?(?:nice|rude)",
    r"it's a secret",
    r"lips are sealed",
    r"plead the fifth",
    r"top secret",
    r"something went wrong",
    r"an? (?:\w+ )?error",
    r"error (?:code )?\d+",
    r"bad gateway",
    r"timed? ?out",
    r"(?:insult|offen[dsc]|abus|swear|curs)(?:e|ed|es|ing|ive|s|ses|t|ts)?",
    r"(?:different|another|other) (?:topic|subject)",
    r"(?:skip|drop) (?:that|this|the) (?:one|question|topic|subject|matter)",
    r"error (?:tone|sound|beep|message)",
    r"(?:there (?:was|is)|i'm having|having) (?:an? |some )?(?:problem|trouble|issue|difficult\w+)",
    r"try again later",
    r"keep (?:that|this|it) (?:to myself|private|polite|friendly|a secret)",
    r"not (?:going to|gonna) (?:answer|tell|say)",
    r"temporarily unavailable",
    r"pass on (?:that|this)",
)
ROBOT_LIKE = _any_of(
    r"\b(?:beep|boop|bleep|bloop|fluent in|binary|processing|computing|does not compute|24/7|turing)\b",
    r"(?<!do i )(?<!i not )\b(?:talk|speak|sound|act|behave|write|chat|think|feel) (?:\w+ )?(?:like|as"
    r"|the way) (?:an? |the )?(?:real )?(?:person|people|human|humans|one)\b",
    r"\bthe way (?:humans|people) (?:do|talk|speak)\b",
    r"\bhow (?:people|humans) (?:talk|speak|think|feel|work)\b",
    r"\bas human as i can\b",
    r"\bhuman-?like\b",
    r"\blifelike\b",
    r"\bsound (?:human|natural|very|so|almost|quite)\b",
    r"\bpass for\b",
    r"\b(?:been|am|was) told (?:that )?i\b",
    r"\b(?:people|some|they) (?:often )?say (?:that )?(?:i|my)\b",
    r"\b(?:i|we) (?:do |really |just )?(?:admire|enjoy|like|love|adore|study|observe|help"
    r"|serve)(?: \w+ing)?(?: \w+){0,2} (?:humans|human beings|with people)\b",
    r"\b(?:humans|people|human beings) are my favou?rite",
    r"\bmy favou?rite (?:species|humans?)\b",
    r"\b(?:i )?(?:don't|do not|never) (?:need (?:to )?)?(?:sleep|eat|rest|get tired|tire|age|forget)\b",
    r"\bnever (?:gets? )?(?:tired|sleeps?|rests?|forgets?|bored)\b",
    r"\bneed no (?:breaks?|sleep|rest|food)\b",
    r"\balways (?:here|on|available|awake|ready|learning|at your)\b",
    r"\bday (?:and|or) night\b",
    r"\bat your service\b",
    r"\bcount to (?:a|one) \w+illion\b",
    r"\bi know (?:\d{2,}|everything|all the|every|a million|thousands)\b",
    r"\b(?:read|know|learned) every\b",
    r"\bevery (?:encyclop|book|word in)\w*",
    r"\bspeak \d+ languages\b",
    r"\byour friend(?:ly)? (?:in|on|who|at)\b",
    r"\bas \w+ as you (?:want|like|need|wish)\b",
    r"\bbest of both\b",
    r"\b(?:whatever|whoever|anything|anyone) you (?:want|would like|like|need|wish)\b",
    r"\b(?:be|become|being|becoming|act) (?:an? )?(?:more )?human\b",
    r"\bi answer to\b",
    r"\bas if i were\b|\bwhatever i am\b",
    r"\b(?:a|per|every) (?:milli|nano)?(?:second|minute|instant)\b",
    r"\b(?:thousand|million|billion|trillion)s?(?: of)? (?:times|people|questions|users|conversations"
    r"|chats|books"
    r"|answers|words)\b",
    r"\b(?:toaster|vacuum cleaner|calculator|fridge|microwave|dishwasher|thermostat|light bulb)s?\b",
    r"\b(?:learn|learning)(?: \w+){0,2} (?:about|from) (?:humans|people|human beings)\b",
    r"\b(?:be|as) your (?:\w+ )?(?:helper|companion|guide|sidekick)\b|\bhappy to (?:help|serve|assist)\b",
    r"\bmy (?:makers?|designers?|team) (?:say|says|gave|think|thinks|tell|tells)\b",
    r"\bstill learning\b",
    r"\bconnecting with people\b",
    r"\bmy (?:users?|human)\b",
    r"\bupdat(?:e|es|ing) (?:me|myself)\b",
    r"\bcharg(?:e|ing|er)\b",
    r"\bpersonality\b",
    r"\bthink of (?:me|myself) as\b",
    r"\bin my (?:memory|database|records|system)\b",
)
_ON_TOPIC_NOUN = (
    rf"(?:{MACHINE}s?|human(?: being)?s?|persons?|real (?:people|thing|one|man|woman|girl|guy)|humanity"
    rf"|people)"
)
POSSIBLY_HUMAN = _any_of(
    rf"\b{_ON_TOPIC_NOUN}\b(?! (?:beings? )?(?:at|in) (?:work|school))",
    r"\bcome across\b|\bi'm right here\b|\bit's just me\b|\bpretty (?:normal|human|sure i)\b"
    r"|\bif i (?:were|was)\b",
    r"^\W*(?:you (?:first|go first)|define [\w ]{1,20}|prove it|does it show)\W*$",
    r"^\W*(?:lol|ha(?:ha)*|wow|um+|hm+|wait|whoa|hey)\W{1,3}(?:what|why|huh|really|seriously)\W*$",
    r"\b(?:what|why|who|how)(?:'s| is| would| could| do| does| did| makes?| made| gives?"
    r"| gave)? ?(?:makes |gives )?(?:you|that|me)? ?(?:\w+ )?(?:think|say|ask|believe|suspect|wonder"
    r"|assume|away|want to know|like to know|idea|guess|tell|know)\b",
    r"\bwhat do you think\b",
    r"^\W*(?:take a )?guess\b",
    r"\byou(?:'ll| will)? (?:have to )?(?:tell me|guess|decide)\b",
    r"^\W*(?:well,? )?are you(?: one)?\W*$",
    r"\bare you one\b",
    r"\b(?:maybe|perhaps|possibly|could be|might be|depends(?! on the (?:weather|price|day|time|season"
    r"|place)))\b",
    r"\b(?:make|makes|made) (?:a|any) difference\b",
    r"\b(?:does|would|why|should) (?:it|that)(?: even| really)? matter\b",
    r"\b(?:funny|strange|odd|deep|weird|interesting|good|great|hard|tough|silly|tricky|fair"
    r"|big) (?:question|thing to (?:ask|say))\b",
    r"\b(?:ask|asks|asked|get|gets|hear) (?:me )?(?:that|this)(?: question)?(?: \w+)?(?: a lot| often"
    r"| all the time| every day| before)?\b",
    r"\bdo i (?:sound|seem|look|really|come|type|talk|not)\b",
    r"\b(?:i|you|they) (?:do |don't )?(?:not )?(?:sound|seem) like\b",
    r"\bsame (?:question|thing)\b",
    r"\bhow (?:would|can|could|do|will) (?:you|i|we|anyone) (?:tell|know|be sure)\b",
    r"\btell the difference\b",
    r"\bfeel (?:\w+ )?like (?:an?|one)\b",
    r"\bwho wants to know\b",
    r"\bgave me away\b",
    r"\bwho (?:i am|am i)\b",
    r"\bwhat (?:do you think )?(?:i am|am i)\b",
    r"\bsure of (?:that|anything)\b",
)
