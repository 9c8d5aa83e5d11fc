//! Places in a schema or a value, kept as steps and written out only where something is wrong.

/// One step down.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// Into a property or a keyword.
    Key(&'a str),
    /// Into an item.
    Index(usize),
}

/// A place; means something to the [`Paths`] that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path(usize);

/// All places that a walk has come to, each one step below another.
pub(crate) struct Paths<'a> {
    root: &'a str,
    steps: Vec<(Path, Step<'a>)>,
}

impl<'a> Paths<'a> {
    /// `root` begins every path; empty for none.
    pub(crate) fn new(root: &'a str) -> Self {
        Self { root, steps: Vec::new() }
    }

    pub(crate) fn root(&self) -> Path {
        Path(0)
    }

    pub(crate) fn at(&mut self, parent: Path, step: Step<'a>) -> Path {
        self.steps.push((parent, step));
        Path(self.steps.len())
    }

    /// The place of a property.
    pub(crate) fn key(&mut self, parent: Path, key: &'a str) -> Path {
        self.at(parent, Step::Key(key))
    }

    /// `a.b[0]`, below the root's name if it has one.
    pub(crate) fn text(&self, mut path: Path) -> String {
        let mut steps = Vec::new();
        while let Some((parent, step)) = path.0.checked_sub(1).and_then(|index| self.steps.get(index)) {
            steps.push(*step);
            path = *parent;
        }
        let mut text = self.root.to_owned();
        for step in steps.into_iter().rev() {
            push(&mut text, step);
        }
        text
    }
}

/// Writes a step behind a path.
pub(crate) fn push(text: &mut String, step: Step<'_>) {
    match step {
        Step::Key(key) => {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(key);
        }
        Step::Index(index) => {
            text.push('[');
            text.push_str(&index.to_string());
            text.push(']');
        }
    }
}
