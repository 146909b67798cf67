//! From the children of the root to the windows of programs: through the frames that a window manager puts around them.

use std::collections::HashMap;

use drawbridge_core::computer::Point;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};

use super::super::SeatWindow;
use super::X11Windows;
use super::read::{Read, Top, answered};
use crate::seat::SeatFault;

/// The keyboard follows the pointer.
pub(super) const POINTER_ROOT: Window = 1;

/// Frames are at most so deep.
const FRAME_DEPTH: usize = 4;

/// So many windows are looked at on one level; more have no frame but a program with very many parts.
const WIDEST: usize = 4096;

/// Nesting of windows that is followed upwards.
const DEEPEST: usize = 64;

impl X11Windows {
    /// Looks at everything.
    pub(super) fn look(&self) -> Result<Vec<SeatWindow>, SeatFault> {
        let tree = self.connection.query_tree(self.root)?;
        let children = tree.reply()?.children;
        let mut tops = self.tops(&children)?;
        self.follow_the_list(&mut tops)?;
        self.find_clients(&mut tops)?;
        let windows = self.describe(&tops)?;
        // The server gives the order of what is drawn, the hindmost first.
        let (mut drawn, elsewhere): (Vec<_>, Vec<_>) = windows.into_iter().partition(|window| window.visible);
        drawn.extend(elsewhere);
        Ok(drawn)
    }

    /// Looks at the window of a program, or at the one with a frame around it; none when it is gone.
    pub(super) fn look_at(&self, window: Window) -> Result<Option<SeatWindow>, SeatFault> {
        let Some(top) = self.holder(window)? else { return Ok(None) };
        let found = self.describe(&[top])?.into_iter().next();
        // A window inside another program's is none of its own.
        Ok(found.filter(|found| window == top.id || found.handle.0 == u64::from(window)))
    }

    /// The window of a program that holds another one, or that the keyboard is given to.
    pub(super) fn client_of(&self, focus: Window) -> Result<Option<Window>, SeatFault> {
        let window = match focus {
            0 => None,
            POINTER_ROOT => self.top_under_pointer()?,
            window => Some(window),
        };
        let Some(window) = window else { return Ok(None) };
        Ok(self.holder(window)?.map(|top| top.client))
    }

    /// The child of the root that holds a window, with the window of the program in it.
    fn holder(&self, window: Window) -> Result<Option<Top>, SeatFault> {
        let chain = self.chain(window)?;
        let Some(last) = chain.last() else { return Ok(None) };
        let mut tops = self.tops(&[*last])?;
        // From the window upwards the first one that a manager cares for is the program's: no need to look into the frame.
        let chain: Vec<(usize, Window)> = chain.into_iter().map(|window| (0, window)).collect();
        let cared_for = self.marks(&chain)?.into_iter().find(|(_, _, cared_for, _)| *cared_for);
        match (tops.first_mut(), cared_for) {
            (Some(top), Some((_, client, _, _))) => (top.client, top.cared_for) = (client, true),
            _ => self.find_clients(&mut tops)?,
        }
        Ok(tops.pop())
    }

    /// The frontmost child of the root at a point that takes clicks there.
    pub(super) fn top_at(&self, point: Point) -> Result<Option<Window>, SeatFault> {
        let (Ok(x), Ok(y)) = (i16::try_from(point.x), i16::try_from(point.y)) else { return Ok(None) };
        // The server minds shapes, also those of input.
        let reply = self.connection.translate_coordinates(self.root, self.root, x, y)?.reply()?;
        Ok(Some(reply.child).filter(|child| *child != 0))
    }

    fn top_under_pointer(&self) -> Result<Option<Window>, SeatFault> {
        let pointer = self.connection.query_pointer(self.root)?.reply()?;
        Ok(Some(pointer.child).filter(|child| *child != 0))
    }

    /// A window and those around it, the outermost below the root last; empty when it is gone or is the root.
    fn chain(&self, mut window: Window) -> Result<Vec<Window>, SeatFault> {
        let mut chain = Vec::new();
        while window != self.root && chain.len() < DEEPEST {
            chain.push(window);
            match answered(self.connection.query_tree(window)?.reply())? {
                Some(tree) if tree.parent == self.root => return Ok(chain),
                Some(tree) => window = tree.parent,
                None => return Ok(Vec::new()),
            }
        }
        Ok(Vec::new())
    }

    /// Goes from the windows that the manager says it has upwards to their frames: much fewer questions than downwards.
    fn follow_the_list(&self, tops: &mut [Top]) -> Result<(), SeatFault> {
        let listed = self.list(self.root, self.atoms._NET_CLIENT_LIST, AtomEnum::WINDOW)?;
        let numbers: HashMap<Window, usize> = tops.iter().enumerate().map(|(number, top)| (top.id, number)).collect();
        let mut level: Vec<(Window, Window)> = listed.into_iter().map(|client| (client, client)).collect();
        for _ in 0..=FRAME_DEPTH {
            let mut asked = Vec::with_capacity(level.len());
            for (client, window) in level {
                match numbers.get(&window).and_then(|number| tops.get_mut(*number)) {
                    Some(top) if !top.cared_for => (top.client, top.cared_for) = (client, true),
                    Some(_) => {}
                    None => asked.push((client, self.connection.query_tree(window)?)),
                }
            }
            level = Vec::with_capacity(asked.len());
            for (client, cookie) in asked {
                level.extend(answered(cookie.reply())?.map(|tree| (client, tree.parent)));
            }
        }
        Ok(())
    }

    /// Finds what each frame is around: the first window in it that a manager cares for, else one that has a class.
    fn find_clients(&self, tops: &mut [Top]) -> Result<(), SeatFault> {
        let mut level: Vec<(usize, Window)> =
            tops.iter().enumerate().filter(|(_, top)| !top.cared_for).map(|(number, top)| (number, top.id)).collect();
        let mut with_class: Vec<Option<Window>> = vec![None; tops.len()];
        for depth in 0..FRAME_DEPTH {
            if level.is_empty() {
                break;
            }
            let mut inner = Vec::new();
            for (number, _, children) in self.children(&level)? {
                inner.extend(children.into_iter().map(|child| (number, child)));
            }
            inner.truncate(WIDEST);
            // The frame's own class is that of the window manager or of a window without frame.
            let looked_at: Vec<(usize, Window)> =
                if depth == 0 { level.iter().chain(&inner).copied().collect() } else { inner.clone() };
            for (number, window, cared_for, has_class) in self.marks(&looked_at)? {
                let Some(top) = tops.get_mut(number) else { continue };
                if cared_for && !top.cared_for {
                    (top.client, top.cared_for) = (window, true);
                }
                if let Some(first) = with_class.get_mut(number)
                    && has_class
                {
                    first.get_or_insert(window);
                }
            }
            inner.retain(|(number, _)| tops.get(*number).is_some_and(|top| !top.cared_for));
            level = inner;
        }
        for (top, with_class) in tops.iter_mut().zip(with_class) {
            if let (false, Some(window)) = (top.cared_for, with_class) {
                top.client = window;
            }
        }
        Ok(())
    }

    fn children(&self, windows: &[(usize, Window)]) -> Result<Vec<(usize, Window, Vec<Window>)>, SeatFault> {
        let mut asked = Vec::with_capacity(windows.len());
        for (number, window) in windows {
            asked.push((*number, *window, self.connection.query_tree(*window)?));
        }
        let mut children = Vec::with_capacity(asked.len());
        for (number, window, cookie) in asked {
            children.extend(answered(cookie.reply())?.map(|tree| (number, window, tree.children)));
        }
        Ok(children)
    }

    /// Tells for each window whether a manager cares for it and whether it has a class.
    fn marks(&self, windows: &[(usize, Window)]) -> Result<Vec<(usize, Window, bool, bool)>, SeatFault> {
        let mut asked = Vec::with_capacity(windows.len());
        for (number, window) in windows {
            let ask = |property: u32| self.connection.get_property(false, *window, property, AtomEnum::ANY, 0, 0);
            asked.push((*number, *window, ask(self.atoms.WM_STATE)?, ask(AtomEnum::WM_CLASS.into())?));
        }
        let mut marks = Vec::with_capacity(asked.len());
        for (number, window, state, class) in asked {
            let state = answered(state.reply())?.is_some_and(|reply| reply.type_ != 0);
            let class = answered(class.reply())?.is_some_and(|reply| reply.type_ != 0);
            marks.push((number, window, state, class));
        }
        Ok(marks)
    }

    fn describe(&self, tops: &[Top]) -> Result<Vec<SeatWindow>, SeatFault> {
        let number = |property: u32| self.connection.get_property(false, self.root, property, AtomEnum::ANY, 0, 1);
        let active = number(self.atoms._NET_ACTIVE_WINDOW)?;
        let desktop = number(self.atoms._NET_CURRENT_DESKTOP)?;
        let mut asked = Vec::with_capacity(tops.len());
        for top in tops {
            asked.push(self.ask(*top)?);
        }
        let active = active.reply()?.value32().and_then(|mut values| values.next()).unwrap_or_default();
        let desktop = desktop.reply()?.value32().and_then(|mut values| values.next());
        let mut read = Vec::with_capacity(asked.len());
        for window in asked {
            read.extend(self.collect(window, active, desktop)?);
        }
        self.name_the_nameless(&mut read)?;
        Ok(read.into_iter().map(|read| read.window).collect())
    }

    /// Menus often have no class: they get that of the window which they belong to.
    fn name_the_nameless(&self, read: &mut [Read]) -> Result<(), SeatFault> {
        let nameless: Vec<usize> = (0..read.len())
            .filter(|number| {
                read.get(*number).is_some_and(|read| {
                    read.window.owner.class.is_empty()
                        && read.window.owner.instance.is_empty()
                        && read.transient_for != 0
                })
            })
            .collect();
        let mut asked = Vec::new();
        for number in nameless {
            let Some(entry) = read.get(number) else { continue };
            let class = AtomEnum::WM_CLASS;
            let main = entry.transient_for;
            asked.push((number, self.connection.get_property(false, main, class, AtomEnum::ANY, 0, 256)?));
        }
        for (number, cookie) in asked {
            let Some(reply) = answered(cookie.reply())? else { continue };
            if let Some(entry) = read.get_mut(number) {
                let owner = &mut entry.window.owner;
                (owner.instance, owner.class) = super::super::text::class_pair(&reply.value);
            }
        }
        Ok(())
    }
}
