"""What syntax and coreference single heads know, and all heads together (paper sections 4, 5)."""

from bertlens.probes.classifiers.attention_probe import AttentionProbe
from bertlens.probes.classifiers.comparison import ProbeTable, compare
from bertlens.probes.classifiers.word_maps import WordMaps, word_maps
from bertlens.probes.classifiers.word_vectors import WordVectors, read_vectors
from bertlens.probes.classifiers.words_probe import AttentionAndWordsProbe
from bertlens.probes.coreference.coreference import coreference
from bertlens.probes.coreference.documents import Document, Mention
from bertlens.probes.coreference.readers import read_conll2012, read_coreference
from bertlens.probes.coreference.table import CoreferenceTable
from bertlens.probes.relations.examples import Example
from bertlens.probes.relations.relations import relations
from bertlens.probes.relations.table import RelationTable
from bertlens.probes.treebanks.parsed import from_parsed
from bertlens.probes.treebanks.treebank import Sentence, Treebank, read_conllu, sample_treebank

__all__ = [
    "AttentionAndWordsProbe",
    "AttentionProbe",
    "CoreferenceTable",
    "Document",
    "Example",
    "Mention",
    "ProbeTable",
    "RelationTable",
    "Sentence",
    "Treebank",
    "WordMaps",
    "WordVectors",
    "compare",
    "coreference",
    "from_parsed",
    "read_conll2012",
    "read_conllu",
    "read_coreference",
    "read_vectors",
    "relations",
    "sample_treebank",
    "word_maps",
]
