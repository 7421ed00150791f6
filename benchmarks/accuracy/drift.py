"""How often texts are said to be unlike those that calibrated, which needs no annotation.

python benchmarks/accuracy/drift.py    half a minute

Writes results/drift.json. Distinct texts are drawn by chance, and linked with weights, and a
calibration, that know nothing of the corpus: diseases of NCBI Disease and BC5CDR, also where the
dictionary lacks a tenth of the concepts, and what is none, or written otherwise: names of HPO, all
mentions of MedMentions, chemicals of BC5CDR, genes, and diseases in German and Japanese.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.promises import alone, lacking, tallied
from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, TITLES, documents, locate, medmentions
from benchmarks.lib.linkers import ONTOLOGIES
from linker import Dictionary, Linker
from linker.io import mentions as corpora
from linker.linking.tally import Tally

SIZES, SAMPLES = (50, 200, 1000), 1000
MOST = 2000  # texts of a kind
GENES = """
BRCA1, TP53, EGFR, KRAS, PTEN, APC, MLH1, VHL, RB1, CFTR, HTT, FMR1, DMD, SMN1, APOE, LDLR, PCSK9,
HBB, G6PD, PAH, GBA1, HEXA, ATM, NF1, TSC1, PKD1, COL1A1, FBN1, MYH7, SCN5A, KCNQ1, TTR, SOD1,
C9orf72, LRRK2, PINK1, MECP2, UBE3A, interleukin-6, tumor necrosis factor alpha, cyclin-dependent
kinase 4, insulin receptor, estrogen receptor alpha, serotonin transporter, dopamine D2 receptor,
angiotensin-converting enzyme, vascular endothelial growth factor, epidermal growth factor
receptor, p53, c-Myc, beta-catenin, E-cadherin, STAT3, NF-kappaB
"""
GERMAN = """
Herzinsuffizienz, Bluthochdruck, Brustkrebs, Lungenentzündung, Zuckerkrankheit, Schlaganfall,
Nierenversagen, Leberzirrhose, Hirnhautentzündung, Magengeschwür, Schuppenflechte, Masern, Röteln,
Windpocken, Keuchhusten, Grippe, Tollwut, Wundstarrkrampf, Kinderlähmung, Blinddarmentzündung,
Gürtelrose, Heuschnupfen, Gicht, Rachitis, Krätze, Netzhautablösung, Grauer Star, Fettleibigkeit,
Schilddrüsenunterfunktion, Schwindsucht, Blutarmut, Bluterkrankheit, Darmkrebs, Lungenkrebs,
Hautkrebs, Gebärmutterhalskrebs, Eierstockkrebs, Prostatakrebs, Vorhofflimmern, Herzinfarkt,
Krampfadern, Nierensteine, Gallensteine, Mittelohrentzündung, akute myeloische Leukämie, Migräne,
chronische Niereninsuffizienz, Morbus Crohn, multiple Sklerose, Angina pectoris, Hypertonie,
Demenz
"""
JAPANESE = """
心不全, 高血圧, 乳癌, 肺炎, 糖尿病, 脳卒中, 腎不全, 肝硬変, 髄膜炎, 胃潰瘍, 膵炎,
乾癬, 麻疹, 風疹, 水痘, 百日咳, インフルエンザ, 狂犬病, 破傷風, ポリオ, 虫垂炎, 帯状疱疹,
花粉症, 痛風, くる病, 疥癬, 網膜剥離, 白内障, 緑内障, 甲状腺機能低下症, 肥満, てんかん, 結核,
貧血, 血友病, 大腸癌, 肺癌, 皮膚癌, 子宮頸癌, 卵巣癌, 前立腺癌, 心房細動, 心筋梗塞, 静脈瘤,
腎結石, 胆石, 骨髄炎, 中耳炎, 扁桃炎, 白血病
"""


def listed(names: str) -> list[str]:
    """The names of a list."""
    return [" ".join(name.split()) for name in names.split(",")]


def kinds(corpus: str) -> Iterator[tuple[str, Linker, Sequence[str]]]:
    """What texts are, the model that is asked, and the texts, with repetitions."""
    model, splits = alone(corpus), ("devel", "train")
    own = [m.text for split in splits for d in documents(corpus, split) for m in d.mentions]
    yield TITLES[corpus], model, own
    yield f"{TITLES[corpus]}, a tenth of the concepts missing", lacking(model), own
    if corpus == "ncbi":
        return
    yield "names of HPO", model, Dictionary.read(locate(ONTOLOGIES[1])).names
    yield "all mentions of MedMentions", model, medmentions()
    chemicals = corpora.read(locate(CORPORA[corpus]["devel"]), type="Chemical")
    yield "chemicals of BC5CDR", model, [m.text for d in chemicals for m in d.mentions]
    lists = {"genes": GENES, "diseases in German": GERMAN, "diseases in Japanese": JAPANESE}
    for title, names in lists.items():
        yield title, model, listed(names)


def warned(linker: Linker, texts: Sequence[str], random: np.random.Generator) -> dict[str, object]:
    """The share that tells most, and how often samples of each size are warned of."""
    assert linker.ranker
    calibration, distinct = linker.ranker.calibration, [*dict.fromkeys(texts)]
    chosen = [distinct[place] for place in random.permutation(len(distinct))[:MOST].tolist()]
    every = tallied(linker.link(chosen, k=1))
    rows, shares = sorted(every.distinct.items()), {}
    for size in SIZES:
        if size <= len(rows):
            count = 0
            for _ in range(SAMPLES):
                drawn = random.permutation(len(rows))[:size].tolist()
                drift = Tally(distinct=dict(rows[row] for row in drawn)).drift(calibration)
                count += drift is not None and drift.excess > 0
            shares[str(size)] = count / SAMPLES
    drift = every.drift(calibration)
    assert drift
    return {"texts": len(rows), **asdict(drift), "warned": shares}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows, random = [], np.random.default_rng(0)
    for corpus in TITLES:
        for asked, linker, texts in kinds(corpus):
            rows.append({"asked": asked, **warned(linker, texts, random)})
            print(rows[-1], flush=True)
    results.save("drift", {"rows": rows}, seed=0)
