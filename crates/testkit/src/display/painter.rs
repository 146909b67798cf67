//! Draws what a test wants to find on a display: a background, plain windows, a pointer with a known hot spot.

use std::io;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, ImageFormat, PropMode,
    Rectangle, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// Rows of a picture that are sent at once; each request stays small.
const ROWS: u16 = 32;

/// A client that draws on one display with 24 bits a pixel. Its windows end with it; the background and the pointer stay.
pub struct Painter {
    connection: RustConnection,
    root: u32,
    size: (u16, u16),
}

impl Painter {
    /// Connects to a display by its name.
    ///
    /// # Errors
    /// When no server answers.
    pub fn on(display: &str) -> io::Result<Self> {
        let (connection, number) = RustConnection::connect(Some(display)).map_err(io::Error::other)?;
        let screen = connection.setup().roots.get(number).ok_or_else(|| io::Error::other("no such screen"))?;
        let (root, size) = (screen.root, (screen.width_in_pixels, screen.height_in_pixels));
        Ok(Self { connection, root, size })
    }

    /// Gives the root a background: red, green and blue of each pixel.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn background(&self, pixel: impl Fn(u16, u16) -> [u8; 3]) -> io::Result<()> {
        let (width, height) = self.size;
        let connection = &self.connection;
        let ids = || connection.generate_id().map_err(io::Error::other);
        let (pixmap, context) = (ids()?, ids()?);
        let draw = || -> Result<(), x11rb::errors::ReplyOrIdError> {
            connection.create_pixmap(24, pixmap, self.root, width, height)?;
            connection.create_gc(context, pixmap, &CreateGCAux::new())?;
            for top in (0..height).step_by(usize::from(ROWS)) {
                let rows = ROWS.min(height - top);
                let bytes: Vec<u8> = (top..top + rows)
                    .flat_map(|y| (0..width).map(move |x| (x, y)))
                    .flat_map(|(x, y)| {
                        let [red, green, blue] = pixel(x, y);
                        [blue, green, red, 0]
                    })
                    .collect();
                let at = i16::try_from(top).unwrap_or(i16::MAX);
                connection.put_image(ImageFormat::Z_PIXMAP, pixmap, context, width, rows, 0, at, 0, 24, &bytes)?;
            }
            let background = ChangeWindowAttributesAux::new().background_pixmap(pixmap);
            connection.change_window_attributes(self.root, &background)?;
            connection.clear_area(false, self.root, 0, 0, width, height)?;
            connection.free_gc(context)?;
            connection.free_pixmap(pixmap)?;
            Ok(connection.sync()?)
        };
        draw().map_err(io::Error::other)
    }

    /// Shows a window of one colour in front of all others, without a frame and past any window manager, and returns its number.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn window(&self, at: (i16, i16), size: (u16, u16), colour: [u8; 3]) -> io::Result<u32> {
        self.show(at, size, colour, None)
    }

    /// Shows a window of one colour as an app of this class does: a window manager may put a frame around it and move it.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn app_window(&self, at: (i16, i16), size: (u16, u16), colour: [u8; 3], class: &str) -> io::Result<u32> {
        self.show(at, size, colour, Some(class))
    }

    fn show(&self, at: (i16, i16), size: (u16, u16), colour: [u8; 3], class: Option<&str>) -> io::Result<u32> {
        let [red, green, blue] = colour;
        let show = || -> Result<u32, x11rb::errors::ReplyOrIdError> {
            let window = self.connection.generate_id()?;
            let colour = u32::from_be_bytes([0, red, green, blue]);
            let look = CreateWindowAux::new().background_pixel(colour).override_redirect(u32::from(class.is_none()));
            let kind = WindowClass::INPUT_OUTPUT;
            self.connection.create_window(24, window, self.root, at.0, at.1, size.0, size.1, 0, kind, 0, &look)?;
            if let Some(class) = class {
                let names = format!("{class}\0{class}\0");
                let (kind, text) = (AtomEnum::WM_CLASS, AtomEnum::STRING);
                self.connection.change_property8(PropMode::REPLACE, window, kind, text, names.as_bytes())?;
            }
            self.connection.map_window(window)?;
            self.connection.sync()?;
            Ok(window)
        };
        show().map_err(io::Error::other)
    }

    /// Gives the root a pointer: a square of one colour with its hot spot at this pixel of it.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn pointer(&self, side: u16, hot_spot: (u16, u16), colour: [u8; 3]) -> io::Result<()> {
        let [red, green, blue] = colour.map(|part| u16::from(part) * 257);
        let set = || -> Result<(), x11rb::errors::ReplyOrIdError> {
            let connection = &self.connection;
            let (pixmap, context, cursor) =
                (connection.generate_id()?, connection.generate_id()?, connection.generate_id()?);
            connection.create_pixmap(1, pixmap, self.root, side, side)?;
            connection.create_gc(context, pixmap, &CreateGCAux::new().foreground(1))?;
            let all = Rectangle { x: 0, y: 0, width: side, height: side };
            connection.poly_fill_rectangle(pixmap, context, &[all])?;
            let (x, y) = hot_spot;
            connection.create_cursor(cursor, pixmap, pixmap, red, green, blue, red, green, blue, x, y)?;
            connection.change_window_attributes(self.root, &ChangeWindowAttributesAux::new().cursor(cursor))?;
            connection.free_gc(context)?;
            connection.free_pixmap(pixmap)?;
            connection.free_cursor(cursor)?;
            Ok(connection.sync()?)
        };
        set().map_err(io::Error::other)
    }

    /// Moves the pointer to a point of the root.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn point_at(&self, x: i16, y: i16) -> io::Result<()> {
        let moved = || -> Result<(), x11rb::errors::ReplyError> {
            self.connection.warp_pointer(x11rb::NONE, self.root, 0, 0, 0, 0, x, y)?;
            self.connection.sync()
        };
        moved().map_err(io::Error::other)
    }
}
