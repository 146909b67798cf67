import { afterEach, expect, it } from 'vitest';
import { told } from './said';
import { chooseLanguage } from './text';
import { said } from './text/en/said';

afterEach(() => void chooseLanguage('en', 'en'));

const sources = import.meta.glob(
  ['../../../crates/{os,caps,store}/src/{keychain,secrets,seat}.rs', '../../../crates/engine/src/dial/words.rs', '../../../crates/os/src/{hardware,sandbox,seat}/**/*.rs', '../../../crates/caps/src/{computer,model}/*.rs'],
  { query: '?raw', import: 'default', eager: true },
);
/** A string of Rust may go on in the next line. */
const written = Object.values(sources).map((text) => String(text).replace(/\\\n\s*/g, '').replaceAll('\\"', '"')).join('\n');

it('knows the sentences as the engine writes them', () => {
  // What the resolver of the system says is in no source of ours, and a port's name is put together.
  const others = ['said.net.dns_none', 'said.net.dns_later', 'said.device.serial_at'];
  const ours = Object.entries(said).filter(([key]) => !others.includes(key));
  const parts = (text: string) => text.split(/\{\w+\}|^agents never use it: it is |(?<=is busy)|(?<=has an )/).map((part) => part.trim()).filter((part) => part.length > 1);
  const lost = ours.flatMap(([key, text]) => parts(text).filter((part) => !written.includes(part)).map((part) => `${key}: ${part}`));
  expect(lost).toEqual([]);
});

it('says them in the language of the person, with what they name', () => {
  const group = 'this user may not open /dev/ttyACM0: it belongs to the group dialout. Add yourself with `sudo usermod -aG dialout $USER`, then sign out and in again';
  expect(told(group)).toEqual({ text: group, lang: 'en' });
  chooseLanguage('de', 'en');
  expect(told(group).text).toBe('Sie dürfen /dev/ttyACM0 nicht öffnen: Es gehört der Gruppe dialout. Fügen Sie sich mit „sudo usermod -aG dialout $USER“ hinzu und melden Sie sich dann am Computer ab und wieder an.');
  expect(told('The connection to the model server broke.')).toEqual({ text: 'Die Verbindung zum Modellserver ist abgebrochen.', lang: 'de' });
  expect(told('The model server sent nothing for 2.5 seconds.').text).toBe('Vom Modellserver kam 2.5 Sekunden lang nichts.');
  expect(told('The host platform.example.org was not found (DNS): Name or service not known.').text).toBe('Der Rechner platform.example.org wurde nicht gefunden (DNS): Der Name ist nicht bekannt.');
  expect(told('agents never use it: it is a camera or phone, whose files would be read around the attached folder').text).toMatch(/^Agenten benutzen es nie: Es ist eine Kamera oder ein Telefon/);
});

it('leaves in English what it does not know, and says so', () => {
  chooseLanguage('de', 'en');
  expect(told('Something new happened.')).toEqual({ text: 'Something new happened.', lang: 'en' });
  // The words of a place are outside text: they are never looked at as a form.
  expect(told('this system refuses them: {why}').text).toBe('Dieses System verweigert sie: {why}');
});
