"""A treebank of two short documents, with entities, written for these tests."""

DECLARATION = "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity"

_ROWS = f"""
# newdoc id = garden
{DECLARATION}
# sent_id = garden-1
# text = The roses near the old wall don't bloom.
1 The DET _ 2 det Entity=(1-plant-new-n-c-2-coref
2 roses NOUN Number=Plur 9 nsubj CorrectForm=_
3 near ADP _ 6 case _
4 the DET _ 6 det Entity=(2-object-new-n-c-3-sgl
5 old ADJ _ 6 amod _
6 wall NOUN Number=Sing 2 nmod Entity=2)1)
6.1 which PRON _ _ _ _
7-8 don't _ _ _ _ _
7 do AUX VerbForm=Fin 9 aux _
8 n't PART _ 9 advmod _
9 bloom VERB VerbForm=Inf 0 root SpaceAfter=No
10 . PUNCT _ 9 punct _

# sent_id = garden-2
# text = Ann Lee and her gardener prune them.
1 Ann PROPN Number=Sing 6 nsubj Entity=(3-person-new-n-c-1,5-sgl(4-person-new-n-c-1,2-coref-Ann_Lee
2 Lee PROPN Number=Sing 1 flat Entity=4)
3 and CCONJ _ 5 cc _
4 her PRON Number=Sing|Person=3 5 nmod:poss Entity=(5-person-new-n-c-2-sgl(4-person-giv-n-c-1-ana)
5 gardener NOUN Number=Sing 1 conj Entity=5)3)
6 prune VERB VerbForm=Fin 0 root _
7 them PRON Number=Plur|Person=3 6 obj Entity=(1-plant-giv-n-c-1-ana)|SpaceAfter=No
8 . PUNCT _ 6 punct _

# sent_id = garden-3
# text = Dunno how she knew it rained.
1-3 Dunno _ _ _ _ _
1 Do AUX VerbForm=Fin 3 aux _
2 n't PART _ 3 advmod _
3 know VERB VerbForm=Inf 0 root _
4 how ADV _ 6 advmod _
5 she PRON Number=Sing|Person=3 6 nsubj Entity=(4-person-giv-n-c-1-ana-Ann_Lee)
6 knew VERB VerbForm=Fin 3 ccomp _
7 it PRON Number=Sing|Person=3 8 nsubj _
8 rained VERB VerbForm=Fin 6 ccomp SpaceAfter=No
9 . PUNCT _ 3 punct _

# newdoc id = pond
# sent_id = pond-1
# text = There swam a duck he had been fed by.
1 There ADV _ 2 advmod _
2 swam VERB VerbForm=Fin 0 root _
3 a DET _ 4 det Entity=(1-animal-new-n-c-2-sgl
4 duck NOUN Number=Sing 2 nsubj _
5 he PRON Number=Sing|Person=3 8 nsubj:pass Entity=(4-person-new-n-c-1-sgl)
6 had AUX VerbForm=Fin 8 aux _
7 been AUX VerbForm=Part 8 aux:pass _
8 fed VERB VerbForm=Part 4 acl:relcl _
9 by ADP _ 8 obl Entity=1)|SpaceAfter=No
10 . PUNCT _ 2 punct _
"""


def _row(line):
    """Ten columns from the seven that matter here."""
    if not line or line.startswith("#"):
        return line
    number, form, upos, features, head, relation, misc = line.split(" ")
    return "\t".join([number, form, "_", upos, "_", features, head, relation, "_", misc])


LINES = [_row(line) for line in _ROWS.strip().split("\n")]


def changed(old, new):
    """The lines with one thing changed, which must be there once."""
    text = "\n".join(LINES)
    assert text.count(old) == 1, old
    return text.replace(old, new).split("\n")
