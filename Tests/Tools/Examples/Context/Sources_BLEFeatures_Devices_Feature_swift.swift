extension MessageCommand {
    fileprivate static let switchLight = MessageCommand(rawValue: 0x0104)
}
