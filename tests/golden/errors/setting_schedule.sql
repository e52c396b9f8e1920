SET schedule = 'hybird';
