-- Compares fencing tokens. read.lua and write.lua begin with this.
--
-- Tokens have 64 bits and Lua's numbers 53, so tokens are compared as text, without leading zeros. The longer is the larger one, and
-- of equal length the one that sorts last.
local function newer(a, b)
  return #a > #b or (#a == #b and a > b)
end

