// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks on a terminal.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::time::Instant;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Sparkline, Table};
use ratatui::{DefaultTerminal, Frame};

use super::lines::full;
use super::look::Look;
use crate::size;

/// Looks that are kept: more than a terminal is wide.
const KEPT: usize = 512;

/// The terminal, as it was when dropped.
pub struct Screen {
    terminal: DefaultTerminal,
    shown: Shown,
}

/// What is shown.
struct Shown {
    url: String,
    last: Look,
    reads: VecDeque<u64>,
    writes: VecDeque<u64>,
}

impl Screen {
    /// Whether there is a terminal to draw on, and to read from.
    #[must_use]
    pub fn is_there() -> bool {
        io::stdout().is_terminal() && io::stdin().is_terminal()
    }

    /// Takes the terminal.
    #[must_use]
    pub fn open(url: &str) -> Self {
        let (reads, writes) = (VecDeque::new(), VecDeque::new());
        let shown = Shown { url: url.to_owned(), last: Look::default(), reads, writes };
        Self { terminal: ratatui::init(), shown }
    }

    /// Waits, and draws again when the terminal changes; true if the user has had enough.
    ///
    /// # Errors
    /// Of the terminal.
    pub fn waits_until(&mut self, end: Instant) -> io::Result<bool> {
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if event::poll(left)? {
                match event::read()? {
                    Event::Key(key) if ends(key) => return Ok(true),
                    Event::Resize(..) => self.draw()?,
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    /// Shows another look.
    ///
    /// # Errors
    /// Of the terminal.
    pub fn show(&mut self, look: Look) -> io::Result<()> {
        keep(&mut self.shown.reads, look.reads_per_s);
        keep(&mut self.shown.writes, look.writes_per_s);
        self.shown.last = look;
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        self.terminal.draw(|frame| self.shown.draw(frame)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn ends(key: KeyEvent) -> bool {
    let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn keep(rates: &mut VecDeque<u64>, rate: f64) {
    rates.push_back(rate as u64);
    if rates.len() > KEPT {
        rates.pop_front();
    }
}

impl Shown {
    fn draw(&self, frame: &mut Frame<'_>) {
        let rows =
            [Constraint::Length(7), Constraint::Length(5), Constraint::Length(5), Constraint::Length(3)];
        let rows: Vec<Constraint> = rows.into_iter().chain([Constraint::Min(3)]).collect();
        let [numbers, reads, writes, capacity, commands] = Layout::vertical(rows).areas(frame.area());
        let title = format!(" saker top {} (q: quit) ", self.url.escape_default());
        frame.render_widget(Paragraph::new(self.numbers()).block(Block::bordered().title(title)), numbers);
        self.draw_rates(frame, reads, "reads/s", &self.reads, Color::Green);
        self.draw_rates(frame, writes, "writes/s", &self.writes, Color::Yellow);
        self.draw_capacity(frame, capacity);
        self.draw_commands(frame, commands);
    }

    fn numbers(&self) -> Vec<Line<'static>> {
        let look = &self.last;
        let ratio = |of: Option<f64>| of.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        let latency = look.latency_us.map_or_else(
            || "latency -".to_owned(),
            |of| format!("latency mean {:.0} us, p50 < {:.0} us, p99 < {:.0} us", of.mean, of.p50, of.p99),
        );
        let background =
            format!("erases {:.1}/s, collected segments {:.1}/s", look.erases_per_s, look.gc_segments_per_s);
        let (waf, life) = (ratio(look.write_amplification), ratio(look.write_amplification_of_life));
        [
            format!(
                "read {}/s, written {}/s, errors {:.0}/s",
                size::show(look.read_bytes_per_s as u64),
                size::show(look.written_bytes_per_s as u64),
                look.errors_per_s
            ),
            latency,
            format!(
                "queues {}, commands in the device {}, waiting {}",
                look.queues, look.in_device, look.waiting
            ),
            format!("write amplification {waf} now, {life} in its life; {background}"),
            format!(
                "writes stopped {:.0} % of the time, delayed {:.0} %",
                look.stopped_ratio * 100.0,
                look.delayed_ratio * 100.0
            ),
        ]
        .map(Line::from)
        .to_vec()
    }

    fn draw_rates(&self, frame: &mut Frame<'_>, area: Rect, name: &str, rates: &VecDeque<u64>, color: Color) {
        let width = usize::from(area.width.saturating_sub(2));
        let last: Vec<u64> = rates.iter().skip(rates.len().saturating_sub(width)).copied().collect();
        let title = format!(" {name}: {} ", last.last().copied().unwrap_or(0));
        let chart = Sparkline::default().data(&last).style(Style::new().fg(color));
        frame.render_widget(chart.block(Block::bordered().title(title)), area);
    }

    fn draw_capacity(&self, frame: &mut Frame<'_>, area: Rect) {
        let look = &self.last;
        let of = format!(
            "{} of {}, {} pairs",
            size::show(look.live_bytes),
            size::show(look.capacity_bytes),
            look.pairs
        );
        let gauge = Gauge::default().ratio(full(look).clamp(0.0, 1.0)).label(of);
        frame.render_widget(gauge.block(Block::bordered().title(" live data ")), area);
    }

    fn draw_commands(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows =
            self.last.commands.iter().map(|(name, rate)| Row::new([name.clone(), format!("{rate:.1}/s")]));
        let table = Table::new(rows, [Constraint::Length(32), Constraint::Min(12)]);
        frame.render_widget(table.block(Block::bordered().title(" commands ")), area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(width: u16, height: u16) -> String {
        let look = Look {
            reads_per_s: 1234.0,
            write_amplification: Some(1.25),
            live_bytes: 512,
            capacity_bytes: 1024,
            pairs: 7,
            commands: vec![("kv Store".into(), 99.5)],
            ..Look::default()
        };
        let shown = Shown {
            url: "tcp://\u{1b}[2J".into(),
            last: look,
            reads: [1, 5, 1234].into(),
            writes: [0; 600].into(),
        };
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("in memory");
        terminal.draw(|frame| shown.draw(frame)).expect("in memory");
        terminal.backend().to_string()
    }

    #[test]
    fn everything_is_on_the_screen() {
        let text = drawn(100, 30);
        for part in [
            "reads/s: 1234",
            "write amplification 1.25 now",
            "512 B of 1.0 kB, 7 pairs",
            "kv Store",
            "99.5/s",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.contains("\\u{1b}[2J"), "a name is shown, not obeyed:\n{text}");
    }

    #[test]
    fn any_terminal_is_large_enough() {
        for (width, height) in [(1, 1), (10, 3), (80, 24), (300, 100)] {
            drawn(width, height);
        }
    }

    #[test]
    fn looks_beyond_the_width_are_forgotten() {
        let mut rates = VecDeque::new();
        (0..2000).for_each(|n| keep(&mut rates, f64::from(n)));
        assert_eq!((rates.len(), rates.back()), (KEPT, Some(&1999)));
    }
}
