//! The pages and completions, as files in memory.

use clap::{Arg, Command};
use clap_complete::Shell;
use utf8fs::cli::completion;

/// A file's name and what is in it.
pub(crate) type File = (String, Vec<u8>);

/// One page for each command, and one for all.
pub(crate) fn pages(mut whole: Command) -> Vec<File> {
    whole.build();
    let mut commands = Vec::new();
    leaves(&whole, "", &mut commands);
    let names: Vec<String> = commands.iter().map(|(words, _)| page_name(words)).collect();
    let mut pages = vec![("utf8fs.1".to_owned(), main_page(&whole, &commands))];
    for ((_, command), name) in commands.iter().zip(&names) {
        let mut others: Vec<&str> = vec!["utf8fs"];
        others.extend(
            names
                .iter()
                .filter(|other| *other != name)
                .map(|other| &**other),
        );
        pages.push((format!("{name}.1"), command_page(command, name, &others)));
    }
    pages
}

/// The commands that do something, with the words that name them, as `policy check`.
fn leaves(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
    let below = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help" && !below.is_hide_set());
    for below in below {
        let words = format!("{words} {}", below.get_name());
        let words = words.trim_start();
        if below.has_subcommands() {
            leaves(below, words, found);
        } else {
            found.push((words.to_owned(), below.clone()));
        }
    }
}

/// For bash, zsh and fish, by the names under which those find them.
pub(crate) fn completions() -> Vec<File> {
    let shells = [
        (Shell::Bash, "utf8fs"),
        (Shell::Zsh, "_utf8fs"),
        (Shell::Fish, "utf8fs.fish"),
    ];
    shells
        .map(|(shell, name)| (name.to_owned(), completion(shell)))
        .into()
}

fn page_name(words: &str) -> String {
    format!("utf8fs-{}", words.replace(' ', "-"))
}

fn main_page(whole: &Command, commands: &[(String, Command)]) -> Vec<u8> {
    let mut page = Page::start("utf8fs", &about(whole));
    page.synopsis(&[
        "utf8fs COMMAND [OPTION]... [ARGUMENT]...".to_owned(),
        "utf8fs --version [--verbose]".to_owned(),
    ]);
    page.section("DESCRIPTION");
    page.text(&long_about(whole));
    page.section("COMMANDS");
    for (words, command) in commands {
        page.item(&format!("\\fButf8fs {}\\fR", escape(words)));
        page.text(&ended(&about(command)));
        page.line(".br");
        page.line(&format!("See \\fB{}\\fR(1).", escape(&page_name(words))));
    }
    page.options(whole);
    page.rest(whole);
    page.section("FILES");
    page.item("\\fI/etc/fstab\\fR");
    page.text("Mounts of the type fuse.utf8fs; their options are those of utf8fs-mount(1).");
    page.item("\\fI/etc/utf8fs/NAME.conf\\fR");
    page.text("What the service utf8fs@NAME mounts: BACKING=, MOUNTPOINT= and OPTIONS=, the last one as after -o.");
    page.item("\\fI/etc/utf8fs/policy.toml\\fR");
    page.text("A policy to begin with, for policy= in fstab and --policy: it reports, and refuses nothing.");
    page.section("ENVIRONMENT");
    page.item("\\fBUTF8FS_LOG\\fR");
    page.text(
        "How much the program says of itself, in the syntax of env_logger, as in UTF8FS_LOG=debug.",
    );
    page.item("\\fBNOTIFY_SOCKET\\fR");
    page.text("Where a service manager is told that a mount in the foreground answers, and that it ends: see sd_notify(3).");
    let names: Vec<String> = commands.iter().map(|(words, _)| page_name(words)).collect();
    page.see_also(&names.iter().map(String::as_str).collect::<Vec<_>>());
    page.done()
}

fn command_page(command: &Command, name: &str, others: &[&str]) -> Vec<u8> {
    let mut page = Page::start(name, &about(command));
    page.synopsis(&usages(command));
    page.section("DESCRIPTION");
    page.text(&long_about(command));
    let operands: Vec<&Arg> = command.get_positionals().collect();
    if !operands.is_empty() {
        page.section("ARGUMENTS");
        for operand in operands {
            page.item(&format!("\\fI{}\\fR", escape(&value(operand))));
            page.help(operand);
        }
    }
    page.options(command);
    page.rest(command);
    page.see_also(others);
    page.done()
}

/// How it is called, a line for each way.
fn usages(command: &Command) -> Vec<String> {
    let usage = command.clone().render_usage().to_string();
    let lines = usage
        .lines()
        .map(|line| line.trim().trim_start_matches("Usage: "));
    lines.map(str::to_owned).collect()
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    about.unwrap_or_default()
}

fn long_about(command: &Command) -> String {
    let long = command.get_long_about().map(ToString::to_string);
    let text = long.unwrap_or_else(|| about(command));
    ended(&text)
}

/// A heading has no full stop where it becomes text.
fn ended(text: &str) -> String {
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let stop = if first.ends_with(['.', ':', '?']) {
        ""
    } else {
        "."
    };
    match rest {
        "" => format!("{first}{stop}"),
        rest => format!("{first}{stop}\n\n{rest}"),
    }
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    names
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A page in man(7).
struct Page(String);

impl Page {
    fn start(name: &str, about: &str) -> Self {
        let upper = escape(&name.to_uppercase());
        let version = env!("CARGO_PKG_VERSION");
        let about = about.trim_end_matches('.');
        let mut first = about.chars();
        let about: String = first
            .next()
            .map_or(' ', |c| c.to_ascii_lowercase())
            .to_string()
            + first.as_str();
        let mut page = Self(format!(
            ".\\\" GENERATED by scripts/generate from the arguments' definition. Do not edit.\n.TH {upper} 1 \"\" \"utf8fs {version}\" \"utf8fs\"\n"
        ));
        page.section("NAME");
        page.line(&format!("{} \\- {}", escape(name), escape(&about)));
        page
    }

    fn section(&mut self, name: &str) {
        self.line(&format!(".SH {name}"));
    }

    fn item(&mut self, head: &str) {
        self.line(".TP");
        self.line(head);
    }

    /// A line that is man(7) already.
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn synopsis(&mut self, lines: &[String]) {
        self.section("SYNOPSIS");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                self.line(".br");
            }
            let (command, rest) = split_command(line);
            self.line(&format!("\\fB{}\\fR {}", escape(command), escape(rest)));
        }
    }

    /// Paragraphs; a line that is indented stays a line.
    fn text(&mut self, text: &str) {
        for (index, paragraph) in text.split("\n\n").enumerate() {
            if index > 0 {
                self.line(".sp");
            }
            let is_table = paragraph.lines().any(|line| line.starts_with("  "));
            if is_table {
                self.line(".nf");
            }
            for line in paragraph.lines() {
                self.line(&escape(line));
            }
            if is_table {
                self.line(".fi");
            }
        }
    }

    /// Options under their headings; those of all commands last.
    fn options(&mut self, command: &Command) {
        let mut headings: Vec<Option<&str>> = Vec::new();
        let shown = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set();
        for arg in command.get_arguments().filter(shown) {
            if !headings.contains(&arg.get_help_heading()) {
                headings.push(arg.get_help_heading());
            }
        }
        headings.sort_by_key(Option::is_some);
        self.section("OPTIONS");
        for heading in headings {
            if let Some(heading) = heading {
                self.line(&format!(".SS {}", escape(heading)));
            }
            let here = |arg: &&Arg| arg.get_help_heading() == heading;
            for arg in command.get_arguments().filter(shown).filter(here) {
                self.item(&head(arg));
                self.help(arg);
            }
        }
    }

    fn help(&mut self, arg: &Arg) {
        if arg.get_id() == "help" {
            // Of its two forms neither is for who reads a page.
            return self.text("Print the help.");
        }
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let text = help.map(ToString::to_string).unwrap_or_default();
        self.text(&ended(&text));
        let values = arg.get_possible_values();
        let takes_values = arg.get_action().takes_values() && !arg.is_hide_possible_values_set();
        if takes_values && !values.is_empty() {
            self.line(".RS");
            for value in values.iter().filter(|value| !value.is_hide_set()) {
                self.item(&format!("\\fB{}\\fR", escape(value.get_name())));
                self.text(
                    &value
                        .get_help()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                );
            }
            self.line(".RE");
        }
    }

    /// What stands behind the options in the help: sections of lines that stay as they are.
    fn rest(&mut self, command: &Command) {
        let rest = command
            .get_after_long_help()
            .or_else(|| command.get_after_help());
        let rest = rest.map(ToString::to_string).unwrap_or_default();
        let (mut is_open, mut is_section) = (false, false);
        let mut close = |page: &mut Self, open: bool| {
            if is_open {
                page.line(".fi");
            }
            is_open = open;
        };
        for line in rest.lines() {
            if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
                close(self, true);
                is_section = true;
                self.section(&escape(&heading.to_uppercase()));
                self.line(".nf");
            } else if !line.is_empty() && !line.starts_with(' ') {
                close(self, false);
                if !is_section {
                    is_section = true;
                    self.section("NOTES");
                }
                self.line(&escape(line));
            } else {
                self.line(&escape(line.strip_prefix("  ").unwrap_or(line)));
            }
        }
        close(self, false);
    }

    fn see_also(&mut self, names: &[&str]) {
        self.section("SEE ALSO");
        let own = names
            .iter()
            .map(|name| format!("\\fB{}\\fR(1)", escape(name)));
        let others = ["mount(8)", "fstab(5)", "fusermount3(1)"];
        let others = others.iter().map(|other| {
            let (name, section) = other.split_once('(').unwrap_or((other, ""));
            format!("\\fB{}\\fR({section}", escape(name))
        });
        let all: Vec<String> = own.chain(others).collect();
        self.line(&all.join(",\n"));
    }

    fn done(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// The words in front of the first argument.
fn split_command(line: &str) -> (&str, &str) {
    let is_argument = |word: &str| {
        word.starts_with(['[', '<', '-']) || word.chars().all(|c| c.is_ascii_uppercase())
    };
    let mut end = 0;
    for word in line.split_inclusive(' ') {
        if is_argument(word.trim_end()) {
            break;
        }
        end += word.len();
    }
    let (command, rest) = line.split_at(end);
    (command.trim_end(), rest)
}

/// An option with all its names, and its value.
fn head(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = arg
        .get_long()
        .map(|long| format!("\\fB\\-\\-{}\\fR", escape(long)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let value = match arg.get_action().takes_values() {
        true => format!(" \\fI{}\\fR", escape(&value(arg))),
        false => String::new(),
    };
    names.join(", ") + &value
}

/// Makes a line text that man(7) takes for nothing else.
fn escape(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq")
        .replace('^', "\\(ha")
        .replace('~', "\\(ti")
        .replace('`', "\\(ga");
    match text.starts_with('.') {
        true => format!("\\&{text}"),
        false => text,
    }
}
