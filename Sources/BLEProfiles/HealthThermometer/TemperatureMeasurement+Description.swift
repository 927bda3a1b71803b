internal import BLE

extension TemperatureMeasurement: CustomStringConvertible {
    /// A line such as `36.6 °C, ear, 2026-02-28T23:59:00`, in the unit that was sent. `not known` replaces a special
    /// value.
    public var description: String {
        [temperature.text(unit == .celsius ? "°C" : "°F"), type?.words, timeStamp?.description].line
    }
}
