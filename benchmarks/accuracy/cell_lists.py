"""What `cells.py` asks: how cells of tables are written, and cells that name no disease.

They were written for it, and for nothing else: no rule of linker is made by them.
"""

from __future__ import annotations

# The fields of a wrapping: `name` as it is, in capitals (`upper`), with capitals (`title`), and
# with a character that nobody sees in the middle of its longest word (`zero_width`, `soft`).
# fmt: off
WRAPPINGS = {
    "list mark": ("3. {name}", "• {name}", "- {name}", "Problem #4: {name}", "[x] {name}"),
    "code": (
        "J45.909 {name}", "{name} (I25.10)", "ICD-9 250.00: {name}", "ORPHA:98 - {name}",
        "{name} [SCTID 44054006]",
    ),
    "unspecified": ("{name} (NOS)", "unspecified {name}", "{name}, not otherwise specified"),
    "degree": ("{name}, moderate", "{name} (grade 2)", "{name} - stage II", "mild {name}"),
    "time": (
        "{name} since 2015", "{name} (dx 03/2011)", "{name} x 10 yrs", "12/04/2019 {name}",
        "{name}, onset age 34",
    ),
    "treatment": (
        "{name} on treatment", "{name}, metformin 500 mg bd", "{name} - well controlled",
        "{name} (in remission)",
    ),
    "history": ("PMHx: {name}", "h/o {name}", "longstanding {name}", "confirmed {name}"),
    "side": ("{name} (R)", "{name}, bilateral"),
    "characters": (
        "<p>{name}</p>", "&quot;{name}&quot;", "{zero_width}", "{soft}", "{name} ;",
        "\ufeff{name}…",
    ),
    "case": ("{upper}", "{title}"),
}

NO_DISEASE = {
    "nothing entered": (
        "not applicable", "not recorded", "not known", "nil", "NULL", "#N/A", "missing", "blank",
        "?", "--", "...", "pending", "TBD", "not stated", "no information", "N/K", "yes", "0",
        "undefined", "-999", "no abnormality detected", "to be confirmed",
    ),
    "nothing entered, German": (
        "keine Angabe", "unbekannt", "k. A.", "entfällt", "nicht bekannt", "ohne Befund", "o. B.",
        "fehlt", "keine", "nicht erhoben",
    ),
    "nothing entered, French": (
        "inconnu", "non renseigné", "néant", "sans objet", "aucun", "non précisé", "RAS",
        "non connu", "manquant", "rien à signaler",
    ),
    "nothing entered, Spanish": (
        "desconocido", "ninguno", "no consta", "sin datos", "no aplica", "sin especificar", "s/d",
        "se desconoce", "nada", "no refiere",
    ),
    "dates and numbers": (
        "03/11/1998", "1987", "12.05.2020", "May 2017", "2015-2019", "45", "3.7", "120/80", "98%",
        "37.2 C", "5 years", "72 kg", "1e-05", "14:30", "Q3 2021", "+44 20 7946 0018",
        "Mon 5 June", "12 mg/dL", "2 x daily", "00412-7",
    ),
    "drugs": (
        "metformin", "atorvastatin 20 mg", "paracetamol", "ibuprofen 400mg prn", "omeprazole",
        "amoxicillin", "lisinopril", "prednisolone", "rituximab", "adalimumab", "insulin glargine",
        "salbutamol inhaler", "levothyroxine", "methotrexate", "tamoxifen", "furosemide",
        "amlodipine", "diazepam", "morphine", "cisplatin", "imatinib", "clopidogrel", "sertraline",
        "vitamin D", "folic acid", "cyclosporine", "lithium carbonate", "doxycycline",
        "trastuzumab", "phenytoin",
    ),
    "genes and proteins": (
        "TP53", "ERBB2", "KRAS G12D", "BRAF V600E", "HER2", "JAK2", "TNF-alpha", "interleukin 6",
        "p53", "albumin", "APOE ε4", "MTHFR", "FGFR3", "HLA-B27", "PIK3CA", "beta-catenin",
        "haemoglobin", "ferritin", "NOTCH1", "SCN1A", "collagen type I", "MYC amplification",
        "PD-L1",
    ),
    "laboratory tests": (
        "HbA1c", "LFTs", "urea and electrolytes", "blood pressure", "ESR", "CRP", "lipid profile",
        "urinalysis", "TSH", "INR", "glucose tolerance test", "blood culture", "Pap smear",
        "troponin", "eGFR", "prostate specific antigen", "platelet count", "white cell count",
        "chest X-ray", "MRI brain", "ECG", "bone density scan", "spirometry",
    ),
    "procedures": (
        "appendectomy", "hip replacement", "caesarean section", "coronary angiography",
        "knee arthroscopy", "cataract surgery", "chemotherapy", "radiotherapy", "tonsillectomy",
        "liver biopsy", "blood transfusion", "hysterectomy", "physiotherapy", "vaccination",
        "gastroscopy", "lumbar puncture", "pacemaker insertion", "bone marrow transplant",
        "mastectomy", "tracheostomy",
    ),
    "anatomy": (
        "left knee", "liver", "aorta", "right upper quadrant", "cervical spine", "pancreas",
        "retina", "femur", "skin", "lymph node", "big toe", "prefrontal cortex", "mitral valve",
        "bladder", "thyroid gland", "abdomen", "index finger", "lower back", "bone marrow",
        "heart",
    ),
    "persons": (
        "Maria Gonzalez", "Dr. Patel", "Mr J. Thompson", "Anna Müller", "Wei Zhang",
        "Smith, Robert", "nurse practitioner", "the patient", "consultant cardiologist", "wife",
        "Sister Agnes", "Prof. Dr. Schneider", "GP", "Mohammed Al-Farsi", "Olga Ivanova",
        "next of kin", "Jean-Pierre Dubois",
    ),
    "places and wards": (
        "Ward 4", "ICU", "A&E", "Manchester", "outpatients", "theatre 2", "Room 312",
        "St Mary's Hospital", "Berlin", "Clinic B", "Bed 17", "home", "nursing home", "Ohio",
        "cardiology", "maternity unit", "reception",
    ),
    "administrative sentences": (
        "referred to cardiology", "awaiting results", "patient did not attend",
        "please call back", "letter sent to GP", "discharged home", "consent form signed",
        "as above", "see notes", "same as before", "duplicate entry",
        "transferred from another hospital", "reviewed by dietitian", "appointment cancelled",
        "lost to follow up", "not my patient", "bloods taken today", "awaiting transport",
        "entered in error", "ask family", "copy to file", "next visit in March",
    ),
    "common words": (
        "table", "window", "yellow", "running", "because", "computer", "Tuesday", "music",
        "water", "happy", "bread", "bicycle", "green tea", "because of this", "test", "asdf",
        "lorem ipsum", "other", "various", "miscellaneous", "good", "quickly", "book",
        "something else", "the",
    ),
}

ASSERTIONS = {
    "absent": (
        "no {name}", "No {name}.", "without {name}", "no known {name}", "no h/o {name}",
        "no history of {name}", "no Hx {name}", "no signs of {name}", "No evidence for {name}",
        "no clinical evidence of {name}", "no features of {name}", "does not have {name}",
        "doesn't have {name}", "never had {name}", "never diagnosed with {name}",
        "pt denies any {name}", "denied {name}", "neg. for {name}", "free of {name}",
        "absence of {name}", "not known to have {name}", "did not develop {name}",
        "not suffering from {name}", "{name}: no", "{name} - absent", "{name}: negative",
        "{name} ruled out", "{name} has been excluded", "{name} was not found",
        "{name} not present",
    ),
    "possible": (
        "query {name}", "{name}?", "{name} (suspected)", "probable {name}", "cannot exclude {name}",
        "r/o {name}", "concern for {name}", "presumed {name}", "suspicious for {name}",
        "{name} cannot be ruled out",
    ),
    "historical": (
        "past history of {name}", "Hx {name}", "previous {name}", "prior {name}", "old {name}",
        "status post {name}", "{name} as a child", "{name} (resolved 2009)", "had {name} in 1998",
        "past medical history: {name}",
    ),
    "family": (
        "FH: {name}", "FHx {name}", "family hx of {name}", "mother had {name}",
        "father with {name}", "{name} in brother", "sister: {name}", "maternal aunt with {name}",
        "{name} (grandmother)", "positive family history for {name}",
    ),
}

SEVERAL = {  # two names in a cell, and three
    "semicolon": ("{}; {}", "{}; {}; {}"),
    "bar between spaces": ("{} | {}", "{} | {} | {}"),
    "bar": ("{}|{}", "{}|{}|{}"),
    "slash": ("{} / {}", "{} / {} / {}"),
    "comma": ("{}, {}", "{}, {}, {}"),
    "new line": ("{}\n{}", "{}\n{}\n{}"),
    "numbers": ("1. {} 2. {}", "1. {} 2. {} 3. {}"),
    "numbers, semicolon": ("1) {}; 2) {}", "1) {}; 2) {}; 3) {}"),
    "plus": ("{} + {}", "{} + {} + {}"),
    "and": ("{} and {}", "{}, {} and {}"),
}
# fmt: on
