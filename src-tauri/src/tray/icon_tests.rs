use super::*;

const ICONS: [Icon; 6] =
    [Icon::Attention, Icon::Raised, Icon::ScreenShared, Icon::SignedOut, Icon::Working, Icon::Lowered];

/// Which pixels are drawn, without their colours.
fn shape(icon: Icon, ground: Ground) -> Vec<bool> {
    picture(icon, ground).chunks(4).map(|pixel| pixel[3] > 127).collect()
}

/// How bright what is drawn is on average, 0 to 255.
fn brightness(icon: Icon, ground: Ground) -> u64 {
    let drawn: Vec<&[u8]> = picture(icon, ground).chunks(4).filter(|pixel| pixel[3] > 127).collect();
    drawn.iter().map(|pixel| pixel[..3].iter().map(|part| u64::from(*part)).sum::<u64>() / 3).sum::<u64>()
        / drawn.len() as u64
}

#[test]
fn states_differ_by_shape_alone_on_every_ground() {
    for ground in [Ground::Any, Ground::Light, Ground::Dark] {
        for (index, icon) in ICONS.into_iter().enumerate() {
            for other in &ICONS[..index] {
                let (one, two) = (shape(icon, ground), shape(*other, ground));
                let different = one.iter().zip(&two).filter(|(a, b)| a != b).count();
                assert!(different > 100, "{icon:?} and {other:?} differ in {different} pixels on {ground:?}");
            }
        }
    }
}

#[test]
fn ink_is_dark_on_a_light_panel_and_bright_on_a_dark_one() {
    for icon in ICONS {
        assert_eq!(picture(icon, Ground::Light).len(), (SIDE * SIDE * 4) as usize);
        assert!(brightness(icon, Ground::Light) < 110, "{icon:?}");
        assert!(brightness(icon, Ground::Dark) > 170, "{icon:?}");
    }
}
