"""What syntax and coreference single heads know, and all heads together (paper sections 4, 5)."""

from bertlens.probes.classifier import AttentionProbe
from bertlens.probes.comparison import ProbeTable, compare
from bertlens.probes.coreference import coreference
from bertlens.probes.coreference_files import read_conll2012, read_coreference
from bertlens.probes.coreference_table import CoreferenceTable
from bertlens.probes.documents import Document, Mention
from bertlens.probes.examples import Example
from bertlens.probes.parsed import from_parsed
from bertlens.probes.relation_table import RelationTable
from bertlens.probes.relations import relations
from bertlens.probes.treebank import Sentence, Treebank, read_conllu, sample_treebank
from bertlens.probes.vectors import WordVectors, read_vectors
from bertlens.probes.word_maps import WordMaps, word_maps
from bertlens.probes.words_classifier import AttentionAndWordsProbe

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
