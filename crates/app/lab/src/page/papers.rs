// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose claims an experiment judges, for the index.

/// A publication, and how names of its experiments begin.
pub struct Paper {
    /// How it is named in the index.
    pub name: &'static str,
    /// Who, what, where.
    pub citation: &'static str,
    prefixes: &'static [&'static str],
}

/// In the order of the index. What no prefix names is of the last one.
pub const PAPERS: [Paper; 7] = [
    Paper {
        name: "BandSlim",
        citation: "Park et al.: BandSlim: A Novel Bandwidth and Space-Efficient KV-SSD with an Escape-from-Block Approach. ICPP 2024.",
        prefixes: &["bandslim-"],
    },
    Paper {
        name: "ByteExpress",
        citation: "ByteExpress: A High-Performance and Traffic-Efficient Inline Transfer of Small Payloads over NVMe. \
                   HotStorage 2025, as the seminar talk has it.",
        prefixes: &["byteexpress-"],
    },
    Paper {
        name: "Talk",
        citation: "Youngjae Kim: Optimizing NVMe-Based Key-Value Interfaces and Leveraging KVSSDs: A Comprehensive Study. Seminar talk, 16 April 2025.",
        prefixes: &["talk-"],
    },
    Paper {
        name: "KVAccel",
        citation: "KVAccel: A Novel Write Accelerator for LSM-Tree-Based KV Stores with Host-SSD Collaboration. IPDPS 2025, as the seminar talk has it.",
        prefixes: &["kvaccel-"],
    },
    Paper {
        name: "SAKER",
        citation: "Zhong, Wang, Jiang: SAKER: A Software Accelerated Key-value Service via the NVMe Interface. SYSTOR 2025.",
        prefixes: &["saker-"],
    },
    Paper {
        name: "Compound commands",
        citation: "Kim, Kim et al.: Transaction Support using Compound Commands in Key-Value SSDs. HotStorage 2019.",
        prefixes: &["compound-tkey", "compound-fig"],
    },
    Paper {
        name: "Plus",
        citation: "Duffy, Kim, Kim: A Hash-Based Key-Value SSD FTL With Efficient Small-Value Support.",
        prefixes: &["plus-"],
    },
];

/// What this program compares, which no paper does.
pub const OWN: Paper = Paper {
    name: "This program",
    citation: "Comparisons that no paper makes: every technique on one model and one workload.",
    prefixes: &[],
};

impl Paper {
    /// The paper of an experiment.
    pub fn of(id: &str) -> &'static Self {
        let is_of = |paper: &&Self| paper.prefixes.iter().any(|prefix| id.starts_with(prefix));
        PAPERS.iter().find(is_of).unwrap_or(&OWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_paper_has_experiments_and_ours_are_nobody_elses() {
        let ids: Vec<String> = crate::run::plans().map(|plan| plan.id).collect();
        for paper in PAPERS.iter().chain([&OWN]) {
            assert!(ids.iter().any(|id| Paper::of(id).name == paper.name), "{} has none", paper.name);
        }
        let own: Vec<&String> = ids.iter().filter(|id| Paper::of(id).name == OWN.name).collect();
        for plan in own.iter().filter_map(|id| crate::run::plan_of(id)) {
            let told = ["this program", "no paper", "sections 2.2 and 5", "bulk PUT"];
            assert!(told.iter().any(|words| plan.source.contains(words)), "{}: {}", plan.id, plan.source);
        }
    }
}
